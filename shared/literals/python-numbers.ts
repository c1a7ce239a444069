import { plainDigits } from '../data/python/integers.js';
import { pyRepr } from '../data/python/text.js';
import { PythonError, pyStrip, pyTypeName, type PyValue } from '../data/python/value.js';

export { intOfDigits, plainDigits, pyInt } from '../data/python/integers.js';

/** A decimal literal after white space, underscores and other scripts' digits are gone. */
const FLOAT = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const FLOAT_NAME = /^([+-]?)(inf|infinity|nan)$/i;
/** Underscores only between digits. */
const STRAY_UNDERSCORE = /(?:^|[^0-9])_|_(?:[^0-9]|$)/;

/**
 * `float(value)` of CPython 3.11.
 *
 * @throws PythonError TypeError, ValueError or OverflowError with CPython's texts
 */
export function pyFloat(value: PyValue): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'bigint') return floatOfInt(value);
  if (typeof value === 'string') return floatOfString(value);
  throw new PythonError('TypeError', `float() argument must be a string or a real number, not '${pyTypeName(value)}'`);
}

/** The nearest double of an integer. */
export function floatOfInt(value: bigint): number {
  const result = Number(value);
  if (Number.isFinite(result)) return result;
  throw new PythonError('OverflowError', 'int too large to convert to float');
}

function floatOfString(text: string): number {
  const literal = plainDigits(pyStrip(text));
  const named = FLOAT_NAME.exec(literal);
  if (named !== null) {
    const size = named[2]?.toLowerCase() === 'nan' ? Number.NaN : Number.POSITIVE_INFINITY;
    return named[1] === '-' ? -size : size;
  }
  const digits = literal.replaceAll('_', '');
  if (STRAY_UNDERSCORE.test(literal) || !FLOAT.test(digits)) {
    throw new PythonError('ValueError', `could not convert string to float: ${pyRepr(text)}`);
  }
  return Number(digits);
}
