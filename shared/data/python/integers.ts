import { MAX_INT_DIGITS, pyRepr } from './text.js';
import { PythonError, pyStrip, pyTruthy, pyTypeName, type PyValue } from './value.js';

const DIGIT = /\p{Nd}/u;

/**
 * `int(value)` of CPython 3.11 in base 10.
 *
 * @throws PythonError TypeError, ValueError or OverflowError with CPython's texts
 */
export function pyInt(value: PyValue): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
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
  const parts = /^([+-]?)([0-9]+(?:_[0-9]+)*)$/.exec(plainDigits(pyStrip(text)));
  if (parts === null) {
    // CPython prints at most 200 characters of the literal.
    const shown = Array.from(pyRepr(text)).slice(0, 200).join('');
    throw new PythonError('ValueError', `invalid literal for int() with base 10: ${shown}`);
  }
  return intOfDigits((parts[2] as string).replaceAll('_', ''), parts[1] === '-');
}

/** An integer from ASCII digits, refused beyond CPython's limit of digits. */
export function intOfDigits(digits: string, negative = false): bigint {
  if (digits.length > MAX_INT_DIGITS) throw tooManyDigits(digits.length);
  const size = BigInt(digits);
  return negative ? -size : size;
}

/** Decimal digits of every script as ASCII digits; other characters stay. */
export function plainDigits(text: string): string {
  if (!/[^\u0000-\u007f]/.test(text)) return text;
  return Array.from(text, (character) => (DIGIT.test(character) ? String(digitValue(character)) : character)).join('');
}

/** Unicode keeps the ten digits of each script together, zero first; some scripts follow each other without a gap. */
function digitValue(character: string): number {
  const code = character.codePointAt(0) as number;
  let first = code;
  while (DIGIT.test(String.fromCodePoint(first - 1))) first -= 1;
  return (code - first) % 10;
}

/** `int(value or 0)`. */
export function pyIntOrZero(value: PyValue): bigint {
  return pyTruthy(value) ? pyInt(value) : 0n;
}

/** CPython's refusal of a very long integer literal, also in `json.loads`. */
export function tooManyDigits(digits: number): PythonError {
  return new PythonError(
    'ValueError',
    `Exceeds the limit (${MAX_INT_DIGITS} digits) for integer string conversion: value has ${digits} digits; use sys.set_int_max_str_digits() to increase the limit`
  );
}
