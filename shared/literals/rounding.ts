import { exactFraction } from './exact-division.js';

/**
 * `format(value, '.<digits>f')`: the exact binary value rounded half to even, never an exponent. JavaScript's toFixed rounds
 * ties up and switches to an exponent from 1e21.
 */
export function formatFixed(value: number, digits: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const { numerator, denominator } = exactFraction(Math.abs(value));
  const text = roundedQuotient(numerator * 10n ** BigInt(digits), denominator)
    .toString()
    .padStart(digits + 1, '0');
  if (digits === 0) return sign + text;
  return `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** `round(value, digits)`: to the nearest decimal, ties to even on the exact binary value, then the nearest double. */
export function roundHalfEven(value: number, digits: number): number {
  return Number.isFinite(value) ? Number(formatFixed(value, digits)) : value;
}

function roundedQuotient(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const twice = 2n * (numerator % denominator);
  if (twice < denominator) return quotient;
  if (twice > denominator) return quotient + 1n;
  return quotient % 2n === 0n ? quotient : quotient + 1n;
}
