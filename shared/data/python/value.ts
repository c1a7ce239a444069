/**
 * Values as a Python program sees them after `json.loads` or `pandas.read_parquet`. The converter must repeat what Python
 * code did, so integers and floats stay apart and the order of keys is kept, both of which plain JavaScript values lose.
 *
 * int → bigint, float → number, dict → Map (string keys, insertion order), list → array, None → null.
 */
export type PyValue = null | boolean | bigint | number | string | PyValue[] | PyDict;

export type PyDict = Map<string, PyValue>;

/** An exception that the Python program would have raised, with Python's class name and text. */
export class PythonError extends Error {
  override readonly name = 'PythonError';

  constructor(
    /** Python's exception class, e.g. `AttributeError`. */
    readonly type: string,
    message: string
  ) {
    super(message);
  }
}

/** White space of `str.strip()` and `str.isspace()`: U+0085 and U+001C–001F are in, U+FEFF and U+200B are not. */
const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const LEADING = new RegExp(`^[${SPACE}]+`);
const SPACE_CHARACTER = new RegExp(`[${SPACE}]`);

/** `str.strip()`. Linear also for texts that are nearly all white space. */
export function pyStrip(text: string): string {
  let end = text.length;
  while (end > 0 && SPACE_CHARACTER.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end).replace(LEADING, '');
}

/** `type(value).__name__`. */
export function pyTypeName(value: PyValue): string {
  if (value === null) return 'NoneType';
  if (Array.isArray(value)) return 'list';
  if (value instanceof Map) return 'dict';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'float';
  return typeof value === 'boolean' ? 'bool' : 'str';
}

/** `bool(value)`: NaN is true, empty containers, zero and None are false. */
export function pyTruthy(value: PyValue | undefined): boolean {
  if (value === undefined || value === null) return false;
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Map) return value.size > 0;
  if (typeof value === 'number') return value !== 0;
  return Boolean(value);
}

/** `value.get(key, fallback)`: only dicts have it. */
export function pyGet(value: PyValue, key: string, fallback: PyValue = null): PyValue {
  if (!(value instanceof Map)) {
    throw new PythonError('AttributeError', `'${pyTypeName(value)}' object has no attribute 'get'`);
  }
  const found = value.get(key);
  return found === undefined ? fallback : found;
}

/** The items of `for item in value`: characters of a string (code points), keys of a dict. */
export function pyIterate(value: PyValue): PyValue[] {
  if (Array.isArray(value)) return value;
  if (typeof value === 'string') return Array.from(value);
  if (value instanceof Map) return [...value.keys()];
  throw new PythonError('TypeError', `'${pyTypeName(value)}' object is not iterable`);
}

/** `len(value)`, strings in code points. */
export function pyLength(value: PyValue): number {
  if (Array.isArray(value)) return value.length;
  if (typeof value === 'string') return Array.from(value).length;
  if (value instanceof Map) return value.size;
  throw new PythonError('TypeError', `object of type '${pyTypeName(value)}' has no len()`);
}

/** `value[index]` with an integer index within the value's length; a dict has no integer keys here. */
export function pyIndex(value: PyValue, index: number): PyValue {
  if (Array.isArray(value)) return value[index] ?? null;
  if (typeof value === 'string') return Array.from(value)[index] ?? '';
  if (value instanceof Map) throw new PythonError('KeyError', String(index));
  throw new PythonError('TypeError', `'${pyTypeName(value)}' object is not subscriptable`);
}
