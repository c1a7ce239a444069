import { findMetricLine } from '../../../shared/scoring/metric-line.js';

/**
 * A line in which a framework reports numbers. All print a Python dict after `word N:`.
 *
 * - `perf N`: rollout metrics and times; the rollout's own line has `rollout/…` keys, the trainer's only `perf/…`
 * - `rollout N`: averages over the rows of the step, printed when training begins
 * - `step N`: one optimizer step; N counts optimizer steps
 */
export interface StepLine {
  kind: 'perf' | 'rollout' | 'step';
  number: number;
  payload: string;
}

const KINDS = ['perf', 'rollout', 'step'] as const;
/** Digits of a step; larger numbers are something else. */
const LONGEST_NUMBER = 9;

/** @param line without colours; a prefix (Ray's, a time, a level) may stand before the word */
export function stepLine(line: string): StepLine | undefined {
  // Most lines are something else: look for what all of them have before anything dear.
  if (!line.includes(': {')) return undefined;
  const found = KINDS.flatMap((kind) => {
    const match = findMetricLine(line, kind);
    return match === null || !standsAlone(line, match.at) ? [] : [{ kind, ...match }];
  });
  // The line's own word comes first; others can only stand inside its dict.
  const [first] = found.sort((a, b) => a.at - b.at);
  if (first === undefined || !/^[0-9]+$/.test(first.digits) || first.digits.length > LONGEST_NUMBER) return undefined;
  return { kind: first.kind, number: Number(first.digits), payload: first.payload };
}

/** `critic-step 3:` is another line. */
function standsAlone(line: string, at: number): boolean {
  return at === 0 || /\s/.test(line.charAt(at - 1));
}
