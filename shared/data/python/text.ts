import { PythonError, type PyValue } from './value.js';

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
