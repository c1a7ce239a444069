import { divideIntegers } from '../literals/exact-division.js';
import { pairedBootstrap, RESAMPLES } from './bootstrap.js';
import { normalUpperTail, Z_800, Z_975 } from './normal-distribution.js';

/** Level of the tests and intervals. */
export const SIGNIFICANCE = 0.05;

/** Statistics of two models' scores on the same samples. Shown beside the rule, never part of it. */
export interface PairedStatistics {
  label: string;
  samples: number;
  /** Mean of second − first. Unit of all `_points`: percentage points. */
  difference_points: number;
  /** 95 % percentile interval of the difference, from resampled samples. */
  bootstrap_low_points: number;
  bootstrap_high_points: number;
  bootstrap_resamples: number;
  /** Samples that only the first or only the second solves; null for a score that is not 0 or 1. */
  only_first: number | null;
  only_second: number | null;
  /** Two-sided exact McNemar test; null for a score that is not 0 or 1. */
  mcnemar_p: number | null;
  /** Test that the difference is within ±tolerance (two one-sided tests, normal approximation); null without a tolerance. */
  equivalence_p: number | null;
  /** Smallest difference that this many samples can show at all at the 5 % level (all disagreements on one side); null as above. */
  smallest_possible_points: number | null;
  /** Smallest true difference found with 80 % probability at the 5 % level, with the disagreement seen here. */
  smallest_likely_points: number;
}

/**
 * @param first scores of the first model, 0 … 1, one a sample
 * @param second scores of the second model on the same samples
 * @param tolerancePoints bounds of the equivalence test; null = no such test
 */
export function pairedStatistics(
  first: readonly number[],
  second: readonly number[],
  tolerancePoints: number | null
): PairedStatistics {
  const differences = pairedDifferences(first, second);
  const binary = [...first, ...second].every((score) => score === 0 || score === 1);
  const onlyFirst = differences.filter((difference) => difference < 0).length;
  const onlySecond = differences.filter((difference) => difference > 0).length;
  const interval = pairedBootstrap(differences);
  return {
    label: 'additional, not part of the rule',
    samples: differences.length,
    difference_points: mean(differences) * 100,
    bootstrap_low_points: interval.low * 100,
    bootstrap_high_points: interval.high * 100,
    bootstrap_resamples: RESAMPLES,
    only_first: binary ? onlyFirst : null,
    only_second: binary ? onlySecond : null,
    mcnemar_p: binary ? exactMcNemar(onlyFirst, onlySecond) : null,
    equivalence_p: tolerancePoints === null ? null : tost(differences, tolerancePoints / 100),
    smallest_possible_points: binary ? smallestDetectableDifference(differences.length) : null,
    smallest_likely_points: smallestLikelyDifference(differences),
  };
}

function pairedDifferences(first: readonly number[], second: readonly number[]): number[] {
  if (first.length !== second.length || first.length === 0) {
    throw new RangeError(`paired scores need equal, positive counts, got ${first.length} and ${second.length}`);
  }
  return first.map((score, at) => (second[at] as number) - score);
}

/**
 * Two-sided exact McNemar test: the binomial test of the samples on which two models disagree.
 *
 * @param onlyFirst samples that only the first model solves
 * @param onlySecond samples that only the second model solves
 * @returns p, at most 1; 1 when they disagree nowhere
 */
export function exactMcNemar(onlyFirst: number, onlySecond: number): number {
  for (const count of [onlyFirst, onlySecond]) {
    if (!Number.isSafeInteger(count) || count < 0) throw new RangeError(`a count of samples cannot be ${count}`);
  }
  const total = onlyFirst + onlySecond;
  if (onlyFirst === onlySecond) return 1;
  // Exact integers: sums of binomial coefficients overflow doubles from 1030 samples on.
  let coefficient = 1n;
  let sum = 1n;
  for (let k = 1; k <= Math.min(onlyFirst, onlySecond); k += 1) {
    coefficient = (coefficient * BigInt(total - k + 1)) / BigInt(k);
    sum += coefficient;
  }
  return Math.min(1, divideIntegers(2n * sum, 1n << BigInt(total)));
}

/**
 * Smallest difference that an exact McNemar test can find significant with this many samples: every disagreement on one side.
 *
 * @returns percentage points; 100 when even a disagreement on all samples would not be significant
 */
export function smallestDetectableDifference(samples: number, level = SIGNIFICANCE): number {
  if (!Number.isSafeInteger(samples) || samples < 1) throw new RangeError(`a count of samples cannot be ${samples}`);
  let disagreements = 1;
  while (disagreements < samples && 2 * 0.5 ** disagreements > level) disagreements += 1;
  return (disagreements / samples) * 100;
}

/** Difference found with 80 % power at the 5 % level: (z₀.₉₇₅ + z₀.₈) × standard error, percentage points. */
export function smallestLikelyDifference(differences: readonly number[]): number {
  return (Z_975 + Z_800) * standardError(differences) * 100;
}

/**
 * Two one-sided tests of equivalence on the mean paired difference, normal approximation.
 *
 * @param margin largest difference that counts as equal, in the unit of the differences
 * @returns p of the weaker side: small = the difference is within ±margin
 */
export function tost(differences: readonly number[], margin: number): number {
  const [difference, error] = [mean(differences), standardError(differences)];
  if (error === 0) return Math.abs(difference) < margin ? 0 : 1;
  return Math.max(normalUpperTail((difference + margin) / error), normalUpperTail((margin - difference) / error));
}

function standardError(differences: readonly number[]): number {
  const count = differences.length;
  if (count < 2) return 0;
  const centre = mean(differences);
  const squares = differences.reduce((sum, difference) => sum + (difference - centre) ** 2, 0);
  return Math.sqrt(squares / (count - 1) / count);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
