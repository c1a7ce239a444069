/**
 * The double nearest to a quotient of two integers, ties to even: what Python's `a / b` gives for integers of any size, where
 * rounding both to doubles first would be off.
 *
 * @throws RangeError for a zero divisor
 */
export function divideIntegers(numerator: bigint, denominator: bigint): number {
  if (denominator === 0n) throw new RangeError('division by zero');
  const negative = numerator < 0n !== denominator < 0n;
  const top = numerator < 0n ? -numerator : numerator;
  const bottom = denominator < 0n ? -denominator : denominator;
  const magnitude = top === 0n ? 0 : dividePositive(top, bottom);
  return negative && magnitude !== 0 ? -magnitude : magnitude;
}

/** Scales the quotient to 64 to 66 bits, keeps what is lost as a sticky bit, and lets the one final conversion round. */
function dividePositive(top: bigint, bottom: bigint): number {
  const shift = BigInt(65 - (bitLength(top) - bitLength(bottom)));
  const scaled = shift >= 0n ? top << shift : top;
  const divisor = shift >= 0n ? bottom : bottom << -shift;
  const quotient = scaled / divisor;
  const sticky = scaled % divisor === 0n ? 0n : 1n;
  // Number(bigint) rounds to nearest even, and the extra bits below keep the double rounding away.
  return scaleByPowerOfTwo(Number((quotient << 1n) | sticky), -Number(shift) - 1);
}

function bitLength(value: bigint): number {
  return value.toString(2).length;
}

/** value × 2^power in at most three exact steps (2^power alone may overflow or underflow). */
function scaleByPowerOfTwo(value: number, power: number): number {
  let result = value;
  let left = power;
  while (left !== 0) {
    const step = Math.max(-1000, Math.min(1000, left));
    result *= 2 ** step;
    left -= step;
  }
  return result;
}

/** A finite double as an exact fraction: value = numerator / denominator, denominator a power of two. */
export function exactFraction(value: number): { numerator: bigint; denominator: bigint } {
  if (!Number.isFinite(value)) throw new RangeError(`${value} has no fraction`);
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponentBits = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xf_ffff_ffff_ffffn;
  const mantissa = exponentBits === 0 ? fraction : fraction | 0x10_0000_0000_0000n;
  const exponent = (exponentBits === 0 ? 1 : exponentBits) - 1075;
  const signed = bits >> 63n === 1n ? -mantissa : mantissa;
  return exponent >= 0
    ? { numerator: signed << BigInt(exponent), denominator: 1n }
    : { numerator: signed, denominator: 1n << BigInt(-exponent) };
}
