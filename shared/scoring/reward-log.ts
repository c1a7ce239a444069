import { pyFloatRepr, pyRepr } from '../data/python/text.js';
import { PythonError } from '../data/python/value.js';
import { isNotALiteral, parseLiteral } from '../literals/literal-eval.js';
import { floatOfInt, intOfDigits, plainDigits } from '../literals/python-numbers.js';
import { findMetricLine } from './metric-line.js';
import { literalRepr, type Literal } from '../literals/values.js';

/** The trajectory-level mean of the raw reward in relax's log. */
export const REWARD_METRIC = 'rollout/mem_agent_raw_reward/mean';

/** Mean reward of one step. Rollout ids are exact integers of any size. */
export interface LogPoint {
  rolloutId: bigint;
  reward: number;
}

/**
 * Reward of every step from a training log's `perf N: {python dict}` lines, sorted by rollout id. A line may carry a prefix
 * (Ray's, a colour, a time) as long as `perf` begins a word; the dict reaches to the last brace of the line.
 *
 * Identical repetitions are one point, because logs are replayed.
 *
 * @param text the log; \n, \r\n and \r end lines, nothing else does
 * @throws PythonError ValueError for a malformed dict, a value that is no number in [0, 1], or two values of one step
 */
export function extractRewardPoints(text: string, metric: string = REWARD_METRIC): LogPoint[] {
  const byRollout = new Map<bigint, number>();
  let lineNumber = 0;
  for (const line of text.split(/\r\n|\r|\n/)) {
    lineNumber += 1;
    const found = findMetricLine(line, 'perf');
    const raw = found === null ? undefined : readMetric(found.payload, metric, lineNumber);
    if (found === null || raw === undefined) continue;
    addPoint(byRollout, intOfDigits(plainDigits(found.digits)), raw, metric);
  }
  const points = [...byRollout].map(([rolloutId, reward]) => ({ rolloutId, reward }));
  return points.sort((a, b) => (a.rolloutId < b.rolloutId ? -1 : 1));
}

/** The metric's value; undefined when the payload is no dict or lacks it. */
function readMetric(payload: string, metric: string, lineNumber: number): Literal | undefined {
  try {
    const value = parseLiteral(payload);
    if (value === null || typeof value !== 'object' || value.kind !== 'dict') return undefined;
    return value.entries.get(metric);
  } catch (error) {
    if (!isNotALiteral(error)) throw error;
    throw new PythonError('ValueError', `Malformed ReLax perf payload at line ${lineNumber}.`);
  }
}

function addPoint(byRollout: Map<bigint, number>, rolloutId: bigint, raw: Literal, metric: string): void {
  const where = `Reward metric ${pyRepr(metric)} at rollout ${rolloutId}`;
  if (typeof raw !== 'number' && typeof raw !== 'bigint') {
    throw new PythonError('ValueError', `${where} is not numeric: ${literalRepr(raw)}.`);
  }
  const value = typeof raw === 'bigint' ? floatOfInt(raw) : raw;
  if (!(value >= 0 && value <= 1)) {
    throw new PythonError('ValueError', `${where} is outside [0, 1]: ${pyFloatRepr(value)}.`);
  }
  const known = byRollout.get(rolloutId);
  if (known !== undefined && known !== value) {
    const both = `${pyFloatRepr(known)} and ${pyFloatRepr(value)}`;
    throw new PythonError('ValueError', `Conflicting reward values for rollout ${rolloutId}: ${both}.`);
  }
  byRollout.set(rolloutId, value);
}
