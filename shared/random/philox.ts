/**
 * Philox-4x32-10, a counter-based random number generator: the output is a pure function of (key, counter), so batching,
 * order and retries never change a draw.
 *
 * Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011; constants as published.
 */

const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;

/** Four unsigned 32-bit words. */
export type Words4 = [number, number, number, number];

/** High 32 bits of the product of two unsigned 32-bit integers. */
function mulHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const low = aLow * bLow;
  const middle1 = aHigh * bLow + (low >>> 16);
  const middle2 = aLow * bHigh + (middle1 & 0xffff);
  return (aHigh * bHigh + Math.floor(middle1 / 0x10000) + (Math.floor(middle2 / 0x10000) >>> 0)) >>> 0;
}

/**
 * @param counter four 32-bit words that name the draw
 * @param key two 32-bit words, e.g. the seed's low and high half
 * @returns four uniform 32-bit words
 */
export function philox4x32(counter: Readonly<Words4>, key: readonly [number, number]): Words4 {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < 10; round += 1) {
    const high0 = mulHigh(MULTIPLIER_0, c0 >>> 0);
    const low0 = Math.imul(MULTIPLIER_0, c0) >>> 0;
    const high1 = mulHigh(MULTIPLIER_1, c2 >>> 0);
    const low1 = Math.imul(MULTIPLIER_1, c2) >>> 0;
    const next0 = (high1 ^ c1 ^ k0) >>> 0;
    const next2 = (high0 ^ c3 ^ k1) >>> 0;
    c0 = next0;
    c1 = low1;
    c2 = next2;
    c3 = low0;
    k0 = (k0 + WEYL_0) >>> 0;
    k1 = (k1 + WEYL_1) >>> 0;
  }
  return [c0 >>> 0, c1 >>> 0, c2 >>> 0, c3 >>> 0];
}

/** Splits a seed (safe integer ≥ 0) into a Philox key. */
export function philoxKey(seed: number): [number, number] {
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new RangeError(`seed must be an integer between 0 and 2^53 - 1, got ${seed}`);
  return [seed >>> 0, Math.floor(seed / 0x1_0000_0000) >>> 0];
}

/** Uniform double in [0, 1) with 53 random bits, from two words. */
export function uniform53(word0: number, word1: number): number {
  return ((word0 >>> 5) * 0x4000000 + (word1 >>> 6)) / 0x20000000000000;
}

/**
 * A sequential stream over one Philox counter space, for code that wants "the next number".
 * Two streams with different (seed, stream) never overlap.
 */
export class PhiloxStream {
  private block = 0;
  private words: Words4 = [0, 0, 0, 0];
  private used = 4;
  private readonly key: [number, number];

  constructor(
    seed: number,
    private readonly stream: readonly [number, number, number] = [0, 0, 0]
  ) {
    this.key = philoxKey(seed);
  }

  /** Next uniform 32-bit word. */
  nextWord(): number {
    if (this.used === 4) {
      this.words = philox4x32([this.block, this.stream[0], this.stream[1], this.stream[2]], this.key);
      this.block += 1;
      this.used = 0;
    }
    const word = this.words[this.used] as number;
    this.used += 1;
    return word;
  }

  /** Next uniform double in [0, 1). */
  nextUniform(): number {
    return uniform53(this.nextWord(), this.nextWord());
  }

  /** Uniform integer in [0, limit). */
  nextInt(limit: number): number {
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw new RangeError(`limit must be a positive integer, got ${limit}`);
    return Math.floor(this.nextUniform() * limit);
  }

  /** Standard normal draw (Box–Muller, one value a call). */
  nextNormal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.nextUniform()));
    return radius * Math.cos(2 * Math.PI * this.nextUniform());
  }

  /** In-place Fisher–Yates shuffle; returns the same array. */
  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i -= 1) {
      const j = this.nextInt(i + 1);
      const swap = items[i] as T;
      items[i] = items[j] as T;
      items[j] = swap;
    }
    return items;
  }
}
