import { pyRepr } from '../data/python/text.js';
import { PythonError, type PyDict, type PyValue } from '../data/python/value.js';
import { pyFloat, pyInt } from '../literals/python-numbers.js';
import type { EvaluationSummary } from './evaluation-types.js';
import { pyEquals } from './python-equality.js';

/** Fields that must be equal in every compared summary, in the order they are checked. */
export const CONTROLLED_FIELDS = [
  'data_file',
  'data_sha256',
  'evaluator_schema_version',
  'mode',
  'tokenizer',
  'temperature',
  'top_p',
  'sampling_count',
  'seed',
  'enable_thinking',
  'chunk_tokens',
  'max_memory_tokens',
  'max_final_tokens',
  'max_chunks',
  'max_input_tokens',
  'server_max_model_len',
  'total',
] as const satisfies readonly (keyof EvaluationSummary)[];

/**
 * What changes a result too and stands in our summaries only: the rules of the loop, how a context is cut, the ablation, the
 * tokenizer by content. Left out = the default.
 */
export const OWN_CONTROLLED_FIELDS = ['flavour', 'context_cut', 'memory_emptied', 'tokenizer_sha256'] as const;

const COUNT_FIELDS = ['successful', 'errors'] as const;

export type IncompatibilityKind =
  'too_few' | 'missing_completeness_field' | 'incomplete' | 'missing_compatibility_field' | 'mismatch' | 'other';

/** One reason why summaries cannot be compared. */
export interface Incompatibility {
  kind: IncompatibilityKind;
  /** The field, where it is about one. */
  field?: string;
  /** Position of the summary, where it is about one. */
  summary?: number;
  /** The values of a mismatch, one a summary. */
  values?: PyValue[];
  /** The exception with which the reference's validation would have ended. */
  error: PythonError;
}

/**
 * Every reason why summaries cannot be compared, in the reference's order (it stops at the first); empty = compatible.
 *
 * A summary must be complete (errors 0, successful = total > 0) and agree with the others on every controlled field.
 */
export function validateCompatibleSummaries(summaries: readonly PyDict[]): Incompatibility[] {
  const found: Incompatibility[] = [];
  if (summaries.length < 2) {
    const error = new PythonError('ValueError', 'At least two summaries are required for compatibility validation.');
    found.push({ kind: 'too_few', error });
  }
  for (const [at, summary] of summaries.entries()) found.push(...incomplete(summary, at));
  for (const field of CONTROLLED_FIELDS) {
    const reason = mismatch(summaries, field);
    if (reason !== null) found.push(reason);
  }
  return found;
}

function incomplete(summary: PyDict, at: number): Incompatibility[] {
  const missing = COUNT_FIELDS.filter((field) => !summary.has(field));
  if (missing.length > 0) {
    return missing.map((field) => ({
      kind: 'missing_completeness_field' as const,
      field,
      summary: at,
      error: new PythonError('KeyError', `Completeness field ${pyRepr(field)} must exist in every summary.`),
    }));
  }
  try {
    const total = pyInt(summary.get('total') ?? (summary.has('total') ? null : 0n));
    const successful = pyInt(summary.get('successful') ?? null);
    const errors = pyInt(summary.get('errors') ?? null);
    if (total > 0n && errors === 0n && successful === total) return [];
    const counts = `total=${total}, successful=${successful}, errors=${errors}`;
    const error = new PythonError('ValueError', `Evaluation summary is incomplete: ${counts}.`);
    return [{ kind: 'incomplete', summary: at, error }];
  } catch (error) {
    if (!(error instanceof PythonError)) throw error;
    return [{ kind: 'other', summary: at, error }];
  }
}

function mismatch(summaries: readonly PyDict[], field: string): Incompatibility | null {
  if (summaries.some((summary) => !summary.has(field))) {
    const error = new PythonError('KeyError', `Compatibility field ${pyRepr(field)} must exist in every summary.`);
    return { kind: 'missing_compatibility_field', field, error };
  }
  const values = summaries.map((summary) => summary.get(field) ?? null);
  const [first, ...others] = values;
  if (first === undefined || others.every((value) => pyEquals(value, first))) return null;
  const error = new PythonError(
    'ValueError',
    `Evaluation summaries differ on controlled field ${pyRepr(field)}: ${pyRepr(values)}`
  );
  return { kind: 'mismatch', field, values, error };
}

/** The two summaries' percentages and whether they are within the tolerance. */
export interface PairComparison {
  first: number;
  second: number;
  /** |second − first|, percentage points, not rounded. */
  gapPoints: number;
  passed: boolean;
}

/**
 * The pair rule: |second − first| ≤ tolerance, on the reported percentages as they are. No rounding: 3.0000000000000018 is
 * above 3.
 *
 * @param metric name of the percentage, e.g. `sub_em_pct`
 * @param tolerance percentage points
 * @throws PythonError KeyError when a summary lacks the metric, TypeError or ValueError when it is no number
 */
export function comparePair(first: PyDict, second: PyDict, metric: string, tolerance: number): PairComparison {
  const [a, b] = metricValues(first, second, metric);
  const gapPoints = Math.abs(b - a);
  return { first: a, second: b, gapPoints, passed: gapPoints <= tolerance };
}

/** A trained model's percentage against the frozen base's. */
export interface BaselineComparison {
  base: number;
  trained: number;
  /** trained − base, percentage points. */
  improvementPoints: number;
  passed: boolean;
}

/**
 * The baseline rule: the trained model is strictly above the frozen base.
 *
 * @throws PythonError as {@link comparePair}
 */
export function compareBaseline(base: PyDict, trained: PyDict, metric: string): BaselineComparison {
  const [a, b] = metricValues(base, trained, metric);
  const improvementPoints = b - a;
  return { base: a, trained: b, improvementPoints, passed: improvementPoints > 0 };
}

function metricValues(first: PyDict, second: PyDict, metric: string): [number, number] {
  if (!first.has(metric) || !second.has(metric)) {
    throw new PythonError('KeyError', `Metric ${pyRepr(metric)} must exist in both summaries.`);
  }
  return [pyFloat(first.get(metric) ?? null), pyFloat(second.get(metric) ?? null)];
}

/** A summary of this package as the values Python would have read from its file. */
export function summaryValues(summary: EvaluationSummary): PyDict {
  return new Map(Object.entries(summary).map(([key, value]) => [key, jsonValue(value as unknown)]));
}

function jsonValue(value: unknown): PyValue {
  if (typeof value === 'number') return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(jsonValue);
  if (typeof value === 'object') return new Map(Object.entries(value).map(([key, member]) => [key, jsonValue(member)]));
  return null;
}
