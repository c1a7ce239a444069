import { PhiloxStream } from '../random/philox.js';
import { BinomialTable } from './binomial-table.js';

/** Resamples of every interval. */
export const RESAMPLES = 10_000;
const BOOTSTRAP_SEED = 2507;
/** Distinguishes this use of the seed from every other stream of the package. */
const BOOTSTRAP_STREAM = 0x424f_4f54;
const LEVEL = 0.95;

/**
 * Percentile bootstrap of the mean paired difference, seeded: the same differences give the same interval.
 *
 * @returns bounds in the unit of the differences
 * @throws RangeError without a difference
 */
export function pairedBootstrap(
  differences: readonly number[],
  options: { resamples?: number; seed?: number; level?: number } = {}
): { low: number; high: number } {
  const { resamples = RESAMPLES, seed = BOOTSTRAP_SEED, level = LEVEL } = options;
  if (differences.length === 0) throw new RangeError('the bootstrap needs a sample');
  const stream = new PhiloxStream(seed, [BOOTSTRAP_STREAM, 0, 0]);
  const signs = differences.every((difference) => difference === 0 || Math.abs(difference) === 1);
  const means = signs ? meansOfSigns(differences, resamples, stream) : meansOf(differences, resamples, stream);
  means.sort();
  const tail = (1 - level) / 2;
  return { low: quantile(means, tail), high: quantile(means, 1 - tail) };
}

/** Means of resamples drawn item by item. */
function meansOf(differences: readonly number[], resamples: number, stream: PhiloxStream): Float64Array {
  const count = differences.length;
  const values = Float64Array.from(differences);
  const means = new Float64Array(resamples);
  for (let resample = 0; resample < resamples; resample += 1) {
    let sum = 0;
    // 32 bits are enough to pick one of some thousand samples, and half as many draws as 53 bits.
    for (let draw = 0; draw < count; draw += 1) {
      sum += values[Math.floor((stream.nextWord() * count) / 0x1_0000_0000)] as number;
    }
    means[resample] = sum / count;
  }
  return means;
}

/**
 * The same for differences −1, 0 and 1, where a resample's mean depends on two counts alone: how many disagreements were
 * drawn, which is binomial, and how many of those are positive, which is binomial given the first. Two draws instead of one
 * per item, with the same distribution.
 */
function meansOfSigns(differences: readonly number[], resamples: number, stream: PhiloxStream): Float64Array {
  const count = differences.length;
  const positive = differences.filter((difference) => difference > 0).length;
  const disagreeing = differences.filter((difference) => difference !== 0).length;
  const drawDisagreeing = new BinomialTable(count, disagreeing / count);
  const drawPositive = new Map<number, BinomialTable>();
  const means = new Float64Array(resamples);
  for (let resample = 0; resample < resamples; resample += 1) {
    const drawn = drawDisagreeing.at(stream.nextUniform());
    let table = drawPositive.get(drawn);
    if (table === undefined) {
      table = new BinomialTable(drawn, disagreeing === 0 ? 0 : positive / disagreeing);
      drawPositive.set(drawn, table);
    }
    means[resample] = (2 * table.at(stream.nextUniform()) - drawn) / count;
  }
  return means;
}

/** Linear interpolation between order statistics (R's type 7). */
function quantile(sorted: Float64Array, probability: number): number {
  const place = probability * (sorted.length - 1);
  const below = Math.floor(place);
  const [low, high] = [sorted[below] as number, sorted[Math.min(below + 1, sorted.length - 1)] as number];
  return low + (high - low) * (place - below);
}
