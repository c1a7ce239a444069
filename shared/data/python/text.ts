import { PythonError, pyTypeName, pyStrip, pyTruthy, type PyValue } from './value.js';

/** Digits that CPython converts between int and str at most (`sys.get_int_max_str_digits()`). */
export const MAX_INT_DIGITS = 4300;

/** What `str.isprintable()` is false for: control, format, surrogate, private, unassigned, separators other than space. */
const NOT_PRINTABLE = /[\p{C}\p{Z}]/u;
const NAMED_ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** `str(value)`. */
export function pyStr(value: PyValue): string {
  return typeof value === 'string' ? value : pyRepr(value);
}

/** `repr(value)`. */
export function pyRepr(value: PyValue): string {
  if (value === null) return 'None';
  if (typeof value === 'string') return reprString(value);
  if (typeof value === 'number') return pyFloatRepr(value);
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'bigint') return reprInt(value);
  if (Array.isArray(value)) return `[${value.map(pyRepr).join(', ')}]`;
  return `{${[...value].map(([key, member]) => `${reprString(key)}: ${pyRepr(member)}`).join(', ')}}`;
}

function reprInt(value: bigint): string {
  const text = value.toString();
  const digits = text.length - (value < 0n ? 1 : 0);
  if (digits <= MAX_INT_DIGITS) return text;
  throw new PythonError(
    'ValueError',
    `Exceeds the limit (${MAX_INT_DIGITS} digits) for integer string conversion; use sys.set_int_max_str_digits() to increase the limit`
  );
}

function reprString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = quote;
  for (const character of text) out += reprCharacter(character, quote);
  return out + quote;
}

function reprCharacter(character: string, quote: string): string {
  const named = NAMED_ESCAPES[character];
  if (named !== undefined) return named;
  if (character === quote) return `\\${quote}`;
  if (character === ' ' || !NOT_PRINTABLE.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/**
 * `repr(float)`: the shortest digits that give the same double, as in JavaScript, but always with a point or exponent, and
 * with an exponent from 1e16 and below 1e-4 (two digits at least).
 */
export function pyFloatRepr(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const [mantissa = '0', power = '0'] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
    const size = String(Math.abs(exponent)).padStart(2, '0');
    return `${sign}${digits.charAt(0)}${fraction}e${exponent < 0 ? '-' : '+'}${size}`;
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`;
}

/** `int(value or 0)`. */
export function pyIntOrZero(value: PyValue): bigint {
  if (!pyTruthy(value)) return 0n;
  if (typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return 1n;
  if (typeof value === 'number') return intOfFloat(value);
  if (typeof value === 'string') return intOfString(value);
  throw new PythonError(
    'TypeError',
    `int() argument must be a string, a bytes-like object or a real number, not '${pyTypeName(value)}'`
  );
}

function intOfFloat(value: number): bigint {
  if (Number.isNaN(value)) throw new PythonError('ValueError', 'cannot convert float NaN to integer');
  if (!Number.isFinite(value)) throw new PythonError('OverflowError', 'cannot convert float infinity to integer');
  return BigInt(Math.trunc(value));
}

function intOfString(text: string): bigint {
  const parts = /^([+-]?)(\p{Nd}+(?:_\p{Nd}+)*)$/u.exec(pyStrip(text));
  if (parts === null) {
    // CPython prints at most 200 characters of the literal (`%.200R`).
    const shown = Array.from(pyRepr(text)).slice(0, 200).join('');
    throw new PythonError('ValueError', `invalid literal for int() with base 10: ${shown}`);
  }
  const digits = Array.from((parts[2] as string).replaceAll('_', ''), decimalDigit);
  if (digits.length > MAX_INT_DIGITS) throw tooManyDigits(digits.length);
  const size = BigInt(digits.join(''));
  return parts[1] === '-' ? -size : size;
}

/** CPython's refusal of a very long integer literal, also in `json.loads`. */
export function tooManyDigits(digits: number): PythonError {
  return new PythonError(
    'ValueError',
    `Exceeds the limit (${MAX_INT_DIGITS} digits) for integer string conversion: value has ${digits} digits; use sys.set_int_max_str_digits() to increase the limit`
  );
}

/** Value of a decimal digit of any script: Unicode keeps each script's ten digits together, zero first. */
function decimalDigit(character: string): number {
  const code = character.codePointAt(0) as number;
  let first = code;
  while (/^\p{Nd}$/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return (code - first) % 10;
}
