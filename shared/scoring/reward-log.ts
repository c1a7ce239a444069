import { pyFloatRepr, pyRepr } from '../data/python/text.js';
import { PythonError } from '../data/python/value.js';
import { isNotALiteral, parseLiteral } from '../literals/literal-eval.js';
import { floatOfInt, intOfDigits, plainDigits } from '../literals/python-numbers.js';
import { literalRepr, type Literal } from '../literals/values.js';

/** The trajectory-level mean of the raw reward in relax's log. */
export const REWARD_METRIC = 'rollout/mem_agent_raw_reward/mean';

/** Mean reward of one step. Rollout ids are exact integers of any size. */
export interface LogPoint {
  rolloutId: bigint;
  reward: number;
}

const WORD_CHARACTER = /^[\p{L}\p{N}_]$/u;
const SPACES = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/y;
const DIGITS = /\p{Nd}+/uy;

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
    const found = findPerf(line);
    const raw = found === null ? undefined : readMetric(found.payload, metric, lineNumber);
    if (found === null || raw === undefined) continue;
    addPoint(byRollout, intOfDigits(plainDigits(found.digits)), raw, metric);
  }
  const points = [...byRollout].map(([rolloutId, reward]) => ({ rolloutId, reward }));
  return points.sort((a, b) => (a.rolloutId < b.rolloutId ? -1 : 1));
}

/** First `perf N: {…}` of a line. Each candidate is scanned once, so a hostile line takes linear time. */
function findPerf(line: string): { digits: string; payload: string } | null {
  const lastBrace = line.lastIndexOf('}');
  for (let at = line.indexOf('perf'); at !== -1; at = line.indexOf('perf', at + 1)) {
    if (at > 0 && WORD_CHARACTER.test(characterBefore(line, at))) continue;
    const digitsAt = skip(SPACES, line, at + 4);
    const digitsEnd = digitsAt === null ? null : skip(DIGITS, line, digitsAt);
    if (digitsAt === null || digitsEnd === null || line.charAt(digitsEnd) !== ':') continue;
    const open = skip(SPACES, line, digitsEnd + 1);
    if (open === null || line.charAt(open) !== '{' || lastBrace < open) continue;
    return { digits: line.slice(digitsAt, digitsEnd), payload: line.slice(open, lastBrace + 1) };
  }
  return null;
}

function characterBefore(line: string, at: number): string {
  const two = line.slice(Math.max(0, at - 2), at);
  return Array.from(two).at(-1) ?? '';
}

/** End of a match at `at`, or null. */
function skip(pattern: RegExp, line: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(line) ? pattern.lastIndex : null;
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
