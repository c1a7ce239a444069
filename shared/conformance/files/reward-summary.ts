import { createHash } from 'node:crypto';
import { PythonError, type PyDict } from '../../data/python/value.js';
import { pyInt } from '../../literals/python-numbers.js';
import { rewardCsv, rewardSvg } from '../../scoring/reward-files.js';
import { extractRewardPoints, REWARD_METRIC, type LogPoint } from '../../scoring/reward-log.js';
import { summarizeLogPoints } from '../../scoring/reward-summary.js';
import { differences } from '../difference.js';
import { compareOutcome, perPythonCase } from '../python-cases.js';
import type { Checker } from '../types.js';

/** Reward series from logs: points, summary, CSV and SVG. */
export const rewardSummaryChecker: Checker = {
  file: 'reward_summary.json',
  check: perPythonCase(({ input, expected: all }) => {
    const expected = all as Record<string, unknown>;
    const points = attempt(() => extractRewardPoints(input.get('log') as string, metricOf(input)));
    const found = [...compareOutcome(expected['points'], () => orThrow(points).map(pair), 'points')];
    if (points instanceof PythonError) return found;
    found.push(...compareOutcome(expected['summary'], () => plainSummary(points, input), 'summary'));
    if (typeof expected['csv'] === 'string') found.push(...differences(expected['csv'], rewardCsv(points), 'csv'));
    if (typeof expected['svg'] === 'string') found.push(...differences(expected['svg'], rewardSvg(points), 'svg'));
    if (typeof expected['svg_sha256'] === 'string') {
      const digest = createHash('sha256').update(rewardSvg(points)).digest('hex');
      found.push(...differences(expected['svg_sha256'], digest, 'svg_sha256'));
    }
    return found;
  }),
};

function metricOf(input: PyDict): string {
  return (input.get('metric') ?? REWARD_METRIC) as string;
}

function attempt(run: () => LogPoint[]): LogPoint[] | PythonError {
  try {
    return run();
  } catch (error) {
    if (error instanceof PythonError) return error;
    throw error;
  }
}

function orThrow(points: LogPoint[] | PythonError): LogPoint[] {
  if (points instanceof PythonError) throw points;
  return points;
}

function pair({ rolloutId, reward }: LogPoint): [number, number] {
  return [Number(rolloutId), reward];
}

function plainSummary(points: LogPoint[], input: PyDict): unknown {
  const steps = input.get('expected_steps') ?? null;
  const summary = summarizeLogPoints(points, {
    expectedSteps: steps === null ? null : pyInt(steps),
    expectedStart: pyInt(input.get('expected_start') ?? 0n),
    windowSize: pyInt(input.get('window_size') ?? 10n),
    metric: metricOf(input),
  });
  return {
    ...summary,
    first_rollout_id: Number(summary.first_rollout_id),
    last_rollout_id: Number(summary.last_rollout_id),
    window_size_requested: Number(summary.window_size_requested),
    peak_rollout_id: Number(summary.peak_rollout_id),
    points: summary.points.map(({ rolloutId, reward }) => ({ rollout_id: Number(rolloutId), reward })),
  };
}
