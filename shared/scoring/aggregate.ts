import { PythonError, pyGet, pyTruthy, pyTypeName, type PyValue } from '../data/python/value.js';
import { floatOfInt, pyFloat } from '../literals/python-numbers.js';
import { roundHalfEven } from '../literals/rounding.js';
import type { EvaluationSample, EvaluationSummary } from './evaluation-types.js';

/** Names of the means and of the record fields they are made of. */
const METRICS = [
  ['f1', 'judge_f1'],
  ['em', 'judge_em'],
  ['sub_em', 'judge_sub_em'],
  ['boxed_em', 'judge_boxed_em'],
] as const;

/** Counts and means of an evaluation; means over the full total, percentages = mean × 100. */
export type Aggregate = Pick<
  EvaluationSummary,
  | 'total'
  | 'successful'
  | 'errors'
  | 'f1'
  | 'f1_pct'
  | 'em'
  | 'em_pct'
  | 'sub_em'
  | 'sub_em_pct'
  | 'boxed_em'
  | 'boxed_em_pct'
>;

/** What of a sample is aggregated. */
export type ScoredSample = Pick<EvaluationSample, ScoreField> & { error?: string | undefined };

/**
 * Means over all samples: a sample with an error counts as zero in the full total.
 *
 * The sum is a plain one from left to right (not exactly rounded), so the samples must come in the order of the data set.
 */
export function aggregate(samples: readonly ScoredSample[]): Aggregate {
  return aggregateRecords(
    samples.map((sample) => ({
      failed: sample.error !== undefined && sample.error !== '',
      score: (field) => sample[field],
    }))
  );
}

/**
 * relax's aggregation of records as JSON gives them: an error counts when it is truthy in Python, scores may be numbers in
 * text, missing ones are 0.
 *
 * @throws PythonError for a score that Python cannot make a float of
 */
export function aggregateRelax(records: readonly PyValue[]): Aggregate {
  return aggregateRecords(
    records.map((record) => ({
      failed: pyTruthy(pyGet(record, 'error')),
      score: (field) => pyFloat(pyGet(record, field, 0)),
    }))
  );
}

type ScoreField = (typeof METRICS)[number][1];

function aggregateRecords(records: readonly { failed: boolean; score(field: ScoreField): number }[]): Aggregate {
  const successful = records.filter((record) => !record.failed);
  const total = records.length;
  const counts = { total, successful: successful.length, errors: total - successful.length };
  const means: Record<string, number> = {};
  for (const [name, field] of METRICS) {
    const mean = total === 0 ? 0 : successful.reduce((sum, record) => sum + record.score(field), 0) / total;
    means[name] = mean;
    means[`${name}_pct`] = mean * 100;
  }
  return { ...counts, ...means } as Aggregate;
}

/** vime's aggregation: no boxed_em, and means rounded to 4 places. */
export interface VimeAggregate {
  f1: number;
  em: number;
  sub_em: number;
  total: number;
}

/**
 * vime's aggregation. It never records a failed request, so records with an error must be left out before: its denominator has
 * only the successful ones.
 *
 * @throws PythonError KeyError for a missing score, TypeError for one that is not a number
 */
export function aggregateVime(records: readonly PyValue[]): VimeAggregate {
  const fields = ['judge_f1', 'judge_em', 'judge_sub_em'] as const;
  const totals = { judge_f1: 0, judge_em: 0, judge_sub_em: 0 };
  for (const record of records) {
    for (const field of fields) totals[field] += addable(record, field);
  }
  const total = records.length;
  const mean = (field: (typeof fields)[number]) => (total === 0 ? 0 : roundHalfEven(totals[field] / total, 4));
  return { f1: mean('judge_f1'), em: mean('judge_em'), sub_em: mean('judge_sub_em'), total };
}

/** `record[field]` as the right side of `float += …`. */
function addable(record: PyValue, field: string): number {
  const value = record instanceof Map ? record.get(field) : undefined;
  if (value === undefined) throw new PythonError('KeyError', field);
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return floatOfInt(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  throw new PythonError('TypeError', `unsupported operand type(s) for +=: 'float' and '${pyTypeName(value)}'`);
}
