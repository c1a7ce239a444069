import type { Flavour } from '../contracts/trajectory.js';
import { PhiloxStream } from '../random/philox.js';

/** Added to a group's standard deviation before dividing. */
const STD_EPSILON = Math.fround(1e-6);

/** Advantage estimators whose rewards are centred within the group, and those that are divided by the spread as well. */
const CENTRED: Readonly<Record<Flavour, ReadonlySet<string>>> = {
  relax: new Set(['grpo', 'gspo', 'sapo', 'cispo', 'reinforce_plus_plus_baseline']),
  vime: new Set(['grpo', 'gspo', 'reinforce_plus_plus_baseline']),
};
const SCALED: Readonly<Record<Flavour, ReadonlySet<string>>> = {
  relax: new Set(['grpo', 'gspo', 'sapo', 'cispo']),
  vime: new Set(['grpo', 'gspo']),
};

/** Distinguishes this use of the seed from every other stream of the package. */
const SHUFFLE_STREAM = 0x4142_4c41;

/** Names the draw of a step's permutations. */
export interface AdvantageShuffle {
  seed: number;
  step: number;
}

export interface NormalizationOptions {
  flavour: Flavour;
  /** Advantage estimator of the framework. Default `grpo`. */
  estimator?: string;
  /** Centre the rewards of a group at all. */
  rewardsNormalization: boolean;
  /** Divide by the group's standard deviation as well. */
  stdNormalization: boolean;
  /** Ablation: which trajectory of a group gets which of its advantages is drawn. Default: everyone its own. */
  shuffle?: AdvantageShuffle;
}

/** Whether the options centre rewards within their group. */
export function centresRewards(options: NormalizationOptions): boolean {
  return options.rewardsNormalization && CENTRED[options.flavour].has(options.estimator ?? 'grpo');
}

/**
 * Advantages of one group in the order of its trajectories: {@link groupAdvantages}, permuted when the ablation says so.
 *
 * @param group position of the group in the step, from 0; part of the permutation's draw
 */
export function orderedAdvantages(rewards: readonly number[], group: number, options: NormalizationOptions): number[] {
  const advantages = groupAdvantages(rewards, options);
  if (options.shuffle === undefined) return advantages;
  const { seed, step } = options.shuffle;
  return new PhiloxStream(seed, [SHUFFLE_STREAM, step, group]).shuffle(advantages);
}

/**
 * Advantages of one group: reward minus the group's mean and, with std normalization, divided by (standard deviation with
 * n − 1, plus 1e-6). In float32 as the frameworks do it: sums are taken one after the other, the spread in double precision
 * from the centred values and rounded once.
 *
 * @param rewards rewards of one group's trajectories
 * @returns one advantage a trajectory; NaN for a group of one with std normalization (0 / 0)
 */
export function groupAdvantages(rewards: readonly number[], options: NormalizationOptions): number[] {
  const mean = Math.fround(float32Sum(rewards) / rewards.length);
  const centred = rewards.map((reward) => Math.fround(Math.fround(reward) - mean));
  if (!options.stdNormalization || !SCALED[options.flavour].has(options.estimator ?? 'grpo')) return centred;
  const divisor = Math.fround(float32Std(centred) + STD_EPSILON);
  return centred.map((value) => Math.fround(value / divisor));
}

function float32Sum(values: readonly number[]): number {
  return values.reduce((sum, value) => Math.fround(sum + Math.fround(value)), 0);
}

/** Sample standard deviation (n − 1), two passes. */
function float32Std(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return Math.fround(Math.sqrt(squares / (values.length - 1)));
}
