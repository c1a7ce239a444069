import { PipelineError } from '../contracts/pipeline-error.js';
import { PythonError } from '../data/python/value.js';
import { exactMean } from '../literals/sums.js';
import { extractRewardPoints, REWARD_METRIC } from './reward-log.js';

/** Trajectory-level mean of the raw reward of one step. */
export interface RewardPoint {
  /** Rollout id, from 0. */
  step: number;
  /** 0 … 1. */
  reward: number;
}

export interface RewardSeriesSummary {
  steps: number;
  /** Steps of each window: the wanted size, or all steps when there are fewer. */
  window: number;
  firstWindowMean: number;
  lastWindowMean: number;
  /** Last − first window mean. */
  difference: number;
  /** The difference is above 0. No further threshold is implied. */
  improved: boolean;
  peakReward: number;
  /** The earliest step that reaches the peak. */
  peakStep: number;
  points: RewardPoint[];
}

export interface RewardSeriesOptions {
  /** Steps the run has: 0 … steps − 1 must all be there. */
  steps: number;
  /** Steps of the first and the last window. Default 10. */
  window?: number;
}

/**
 * Summary of a complete reward series.
 *
 * @param points in any order; identical repetitions are tolerated
 * @throws PipelineError DataInvalid listing every problem: steps missing, beyond the run, given twice with different values, or
 *   values that are not in [0, 1]
 */
export function summarizeRewards(points: readonly RewardPoint[], options: RewardSeriesOptions): RewardSeriesSummary {
  const series = completeSeries(points, options.steps);
  const rewards = series.map((point) => point.reward);
  const window = Math.min(options.window ?? 10, series.length);
  const firstWindowMean = exactMean(rewards.slice(0, window));
  const lastWindowMean = exactMean(rewards.slice(-window));
  const peakReward = rewards.reduce((best, reward) => Math.max(best, reward), 0);
  return {
    steps: series.length,
    window,
    firstWindowMean,
    lastWindowMean,
    difference: lastWindowMean - firstWindowMean,
    improved: lastWindowMean > firstWindowMean,
    peakReward,
    peakStep: rewards.indexOf(peakReward),
    points: series,
  };
}

/**
 * Reward series of a run from relax's training log.
 *
 * @throws PipelineError DataInvalid for a malformed line or an incomplete series
 */
export function summarizeRewardLog(
  text: string,
  options: RewardSeriesOptions & { metric?: string }
): RewardSeriesSummary {
  let points: RewardPoint[];
  try {
    points = extractRewardPoints(text, options.metric ?? REWARD_METRIC).map(({ rolloutId, reward }) => ({
      step: Number(rolloutId),
      reward,
    }));
  } catch (error) {
    if (!(error instanceof PythonError)) throw error;
    throw new PipelineError('DataInvalid', `the reward log cannot be used: ${error.message}`, {}, { cause: error });
  }
  return summarizeRewards(points, options);
}

function completeSeries(points: readonly RewardPoint[], steps: number): RewardPoint[] {
  if (!Number.isSafeInteger(steps) || steps < 1) throw new RangeError(`steps must be a positive integer, got ${steps}`);
  const byStep = new Map<number, number>();
  const problems: string[] = [];
  for (const { step, reward } of points) {
    const known = byStep.get(step);
    if (!Number.isInteger(step) || step < 0 || step >= steps) {
      problems.push(`step ${step} is not one of 0 to ${steps - 1}`);
    } else if (!(reward >= 0 && reward <= 1)) {
      problems.push(`the reward of step ${step} is ${reward}, not between 0 and 1`);
    } else if (known !== undefined && known !== reward) {
      problems.push(`step ${step} has two rewards, ${known} and ${reward}`);
    } else byStep.set(step, reward);
  }
  const missing = Array.from({ length: steps }, (_, step) => step).filter((step) => !byStep.has(step));
  if (missing.length > 0) problems.push(`no usable reward of ${missing.length} steps: ${listSome(missing)}`);
  if (problems.length > 0) {
    const first = problems.slice(0, 3).join('; ');
    const more = problems.length > 3 ? `; and ${problems.length - 3} more problems` : '';
    throw new PipelineError('DataInvalid', `the reward series is not complete: ${first}${more}`, { problems });
  }
  return Array.from({ length: steps }, (_, step) => ({ step, reward: byStep.get(step) as number }));
}

function listSome(steps: readonly number[]): string {
  return steps.length <= 8 ? steps.join(', ') : `${steps.slice(0, 8).join(', ')}, …`;
}
