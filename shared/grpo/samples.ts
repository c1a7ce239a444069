import { pyRepr, pyStr } from '../data/python/text.js';
import { PythonError, pyTruthy, pyTypeName, type PyDict, type PyValue } from '../data/python/value.js';

/**
 * Trajectories as the frameworks hand them to their converters: nothing about them is known to be right yet. Both converters
 * work on these; `rows.ts` makes them from this package's own typed trajectories.
 */
export interface RawSample {
  groupIndex: PyValue;
  index: PyValue;
  reward: PyValue;
  /** `completed | truncated | aborted | failed`. */
  status: string;
  removeSample: boolean;
  /** Turns as dicts; null = the sample has no training metadata. */
  turns: PyValue;
  /** The sample's own row, which vime trains on when there are no turns. */
  whole: { tokens: PyValue; responseLength: PyValue; lossMask: PyValue; rolloutLogProbs: PyValue };
}

/** Rows under construction: the reference's column names, one entry a row. */
export type RawRows = Record<string, PyValue[]>;

export function valueError(message: string): PythonError {
  return new PythonError('ValueError', message);
}

/**
 * The number a trajectory is trained by.
 *
 * @param rewardKey member of a reward that is a dict; null = the reward is the number
 * @throws PythonError KeyError or TypeError
 */
export function rewardValue(sample: RawSample, rewardKey: PyValue): PyValue {
  if (!pyTruthy(rewardKey)) return sample.reward;
  if (!(sample.reward instanceof Map)) {
    throw new PythonError('TypeError', `'${pyTypeName(sample.reward)}' object is not subscriptable`);
  }
  const value = sample.reward.get(pyStr(rewardKey));
  if (value === undefined) throw new PythonError('KeyError', pyStr(rewardKey));
  return value;
}

/** `turn[field]`. */
export function turnField(turn: PyValue, field: string): PyValue {
  const value = turn instanceof Map ? turn.get(field) : undefined;
  if (value === undefined) throw new PythonError('KeyError', field);
  return value;
}

/** `turn.get(field, fallback)`. */
export function turnFieldOr(turn: PyValue, field: string, fallback: PyValue): PyValue {
  return (turn as PyDict).get(field) ?? fallback;
}

/** Lists a Python list of integers as its `repr`. */
export function reprList(values: readonly bigint[]): string {
  return pyRepr([...values]);
}

/** An all-zero loss mask. */
export function zeros(length: bigint): PyValue[] {
  return new Array<PyValue>(Math.max(0, Number(length))).fill(0n);
}
