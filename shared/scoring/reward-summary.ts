import { pyRepr } from '../data/python/text.js';
import { PythonError } from '../data/python/value.js';
import { exactMean } from '../literals/sums.js';
import { REWARD_METRIC, type LogPoint } from './reward-log.js';

export const REWARD_SUMMARY_SCHEMA = 'mem-agent-reward-summary-v1';

export interface SummaryOptions {
  /** Steps the run must have, from `expectedStart` on without a gap. Default null: whatever is there. */
  expectedSteps?: bigint | null;
  /** First rollout id of the run. Default 0. */
  expectedStart?: bigint;
  /** Steps of the first and of the last window. Default 10; fewer points than that make a smaller window. */
  windowSize?: bigint;
  metric?: string;
}

/** The reference's reward summary, field for field. */
export interface RewardSummary {
  schema_version: string;
  metric: string;
  num_steps: number;
  first_rollout_id: bigint;
  last_rollout_id: bigint;
  window_size_requested: bigint;
  window_size_used: number;
  first_window_mean: number;
  last_window_mean: number;
  last_minus_first: number;
  strictly_improved: boolean;
  peak_reward: number;
  /** The earliest step that reaches the peak. */
  peak_rollout_id: bigint;
  points: LogPoint[];
}

/**
 * First and last window means, their difference, and the peak of a reward series. Means use an exactly rounded sum.
 *
 * @param points sorted by rollout id
 * @throws PythonError ValueError for no points, a wrong option, a repeated rollout id, or steps that are not exactly the
 *   expected ones
 */
export function summarizeLogPoints(points: readonly LogPoint[], options: SummaryOptions = {}): RewardSummary {
  const { metric = REWARD_METRIC, windowSize = 10n } = options;
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined) {
    throw valueError(`No ${pyRepr(metric)} points were found in the training log.`);
  }
  if (windowSize <= 0n) throw valueError('window_size must be positive.');
  checkSteps(
    points.map((point) => point.rolloutId),
    options
  );
  const window = windowSize < BigInt(points.length) ? Number(windowSize) : points.length;
  const rewards = points.map((point) => point.reward);
  const firstMean = exactMean(rewards.slice(0, window));
  const lastMean = exactMean(rewards.slice(-window));
  const peak = points.reduce((best, point) => (point.reward > best.reward ? point : best), first);
  return {
    schema_version: REWARD_SUMMARY_SCHEMA,
    metric,
    num_steps: points.length,
    first_rollout_id: first.rolloutId,
    last_rollout_id: last.rolloutId,
    window_size_requested: windowSize,
    window_size_used: window,
    first_window_mean: firstMean,
    last_window_mean: lastMean,
    last_minus_first: lastMean - firstMean,
    strictly_improved: lastMean - firstMean > 0,
    peak_reward: peak.reward,
    peak_rollout_id: peak.rolloutId,
    points: [...points],
  };
}

function checkSteps(rolloutIds: readonly bigint[], options: SummaryOptions): void {
  if (new Set(rolloutIds).size !== rolloutIds.length) throw valueError('Reward points contain duplicate rollout ids.');
  const { expectedSteps = null, expectedStart = 0n } = options;
  if (expectedSteps === null) return;
  if (expectedSteps <= 0n) throw valueError('expected_steps must be positive.');
  if (expectedStart < 0n) throw valueError('expected_start must be non-negative.');
  const expected = Array.from({ length: Number(expectedSteps) }, (_, at) => expectedStart + BigInt(at));
  if (rolloutIds.length === expected.length && rolloutIds.every((id, at) => id === expected[at])) return;
  const lists = `expected ${pyRepr(expected)}, got ${pyRepr([...rolloutIds])}`;
  throw valueError(`Reward rollout ids are incomplete: ${lists}.`);
}

function valueError(message: string): PythonError {
  return new PythonError('ValueError', message);
}
