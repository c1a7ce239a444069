import { PythonError, type PyDict, type PyValue } from '../data/python/value.js';
import { pyFloat } from '../literals/python-numbers.js';
import { pyRepr } from '../data/python/text.js';
import { aggregate } from './aggregate.js';
import { OWN_CONTROLLED_FIELDS, summaryValues, validateCompatibleSummaries, type Incompatibility } from './compare.js';
import { pyEquals } from './python-equality.js';
import { asksFor, capitalized, listWords, namedDatasets, type NamedDataset } from './judge-words.js';
import type { AcceptanceMetric, DatasetEvaluation, JudgeInput, ModelEvaluations } from './verdict-types.js';

/** Name of the frozen base in verdicts. */
export const BASE = 'base';

/** One model of a verdict. */
export interface NamedModel {
  name: string;
  evaluations: ModelEvaluations;
}

/** The base, where the rule asks for it, and all arms, in the order they are reported. */
export function namedModels(input: JudgeInput): NamedModel[] {
  const base = asksFor(input, 'baselines') ? [{ name: BASE, evaluations: input.base }] : [];
  return [...base, ...input.arms];
}

/** Every reason why the models cannot be compared, in plain words; empty = they can. */
export function reasonsAgainst(input: JudgeInput): string[] {
  const models = namedModels(input);
  const reasons: string[] = [];
  if (input.arms.length < (asksFor(input, 'pairs') ? 2 : 1)) {
    reasons.push(`The rule compares two trained arms, and there ${input.arms.length === 1 ? 'is one' : 'is none'}.`);
  }
  if (new Set(models.map((model) => model.name)).size < models.length) {
    reasons.push('Two models have the same name.');
  }
  if (input.lengths.length === 0) reasons.push('No evaluation length was chosen.');
  for (const dataset of namedDatasets(input)) reasons.push(...datasetReasons(dataset, models));
  return reasons;
}

function datasetReasons(dataset: NamedDataset, models: readonly NamedModel[]): string[] {
  const where = capitalized(dataset.name);
  const reasons: string[] = [];
  const present: { name: string; evaluation: DatasetEvaluation }[] = [];
  for (const { name, evaluations } of models) {
    const evaluation = evaluations[dataset.dataset];
    if (evaluation === undefined) reasons.push(`${where}: ${name} was not evaluated.`);
    else present.push({ name, evaluation });
  }
  const summaries = present.map(({ evaluation }) => summaryValues(evaluation.summary));
  const names = present.map(({ name }) => name);
  if (present.length >= 2) {
    const found = validateCompatibleSummaries(summaries);
    reasons.push(...found.map((reason) => `${where}: ${inWords(reason, names)}.`));
    reasons.push(...ownDifferences(summaries, names).map((reason) => `${where}: ${reason}.`));
  }
  for (const { name, evaluation } of present) {
    if (!hasMetric(evaluation, dataset.metric))
      reasons.push(`${where}: the summary of ${name} has no number ${dataset.metric}_pct.`);
    const fault = sampleFault(evaluation);
    if (fault !== null) reasons.push(`${where}: ${fault.replace('MODEL', name)}.`);
  }
  const [first, ...others] = present;
  for (const other of others) {
    if (first !== undefined && !sameSamples(first.evaluation, other.evaluation)) {
      reasons.push(
        `${where}: ${first.name} and ${other.name} were not evaluated on the same samples in the same order.`
      );
    }
  }
  return reasons;
}

/** Differences in these, where every summary is one of ours. */
function ownDifferences(summaries: readonly PyDict[], names: readonly string[]): string[] {
  if (!summaries.every((summary) => summary.has('settings_sha256'))) return [];
  return OWN_CONTROLLED_FIELDS.flatMap((field) => {
    const values = summaries.map((summary) => summary.get(field) ?? null);
    return values.every((value) => pyEquals(value, values[0] ?? null)) ? [] : [unlike(field, values, names)];
  });
}

function unlike(field: string, values: readonly PyValue[], names: readonly string[]): string {
  const each = values.map((value, at) => `${shown(value)} (${names[at] ?? '?'})`);
  return `the models were not evaluated alike: ${field} is ${listWords(each)}`;
}

function inWords(reason: Incompatibility, names: readonly string[]): string {
  const model = reason.summary === undefined ? '' : (names[reason.summary] ?? '');
  switch (reason.kind) {
    case 'mismatch':
      return unlike(reason.field ?? '', reason.values ?? [], names);
    case 'incomplete':
      return `the evaluation of ${model} is not complete (${countsOf(reason)})`;
    case 'missing_completeness_field':
      return `the summary of ${model} does not say ${reason.field ?? ''}`;
    case 'missing_compatibility_field':
      return `not every summary says ${reason.field ?? ''}`;
    case 'too_few':
    case 'other':
      return `the summary of ${model === '' ? 'a model' : model} cannot be read: ${reason.error.message}`;
  }
}

/** `total=128, successful=126, errors=2` out of the reference's message. */
function countsOf(reason: Incompatibility): string {
  return reason.error.message.replace(/^[^:]*: /, '').replace(/\.$/, '');
}

/** A value of a summary, short enough for a sentence. */
function shown(value: PyValue): string {
  const text = typeof value === 'string' ? value : value === null ? 'not set' : pyRepr(value);
  return text.length <= 60 ? text : `${text.slice(0, 12)}…`;
}

/** A summary must be what its samples give: the verdict rests on the samples. */
function sampleFault(evaluation: DatasetEvaluation): string | null {
  const { summary, samples } = evaluation;
  if (samples === null) return null;
  if (samples.length !== summary.total) {
    return `the summary of MODEL counts ${summary.total} samples, and there are ${samples.length}`;
  }
  const recomputed = aggregate(samples);
  const differing = Object.entries(recomputed).filter(([field, value]) => {
    return value !== summary[field as keyof typeof recomputed];
  });
  if (differing.length === 0) return null;
  return `the samples of MODEL do not give the ${listWords(differing.map(([field]) => field))} of its summary`;
}

function sameSamples(first: DatasetEvaluation, second: DatasetEvaluation): boolean {
  const [a, b] = [first.samples, second.samples];
  if (a === null || b === null) return true;
  return a.length === b.length && a.every((sample, at) => sample._id === b[at]?._id);
}

/** Whether a summary has the percentage that the rule compares, in the reference's sense of a number. */
function hasMetric({ summary }: DatasetEvaluation, metric: AcceptanceMetric): boolean {
  const value = summaryValues(summary).get(`${metric}_pct`);
  try {
    return value !== undefined && Number.isFinite(pyFloat(value));
  } catch (error) {
    if (error instanceof PythonError) return false;
    throw error;
  }
}

/** True when two evaluations of one data set may be set against each other by a metric. */
export function comparable(first: DatasetEvaluation, second: DatasetEvaluation, metric: AcceptanceMetric): boolean {
  const summaries = [summaryValues(first.summary), summaryValues(second.summary)];
  return (
    validateCompatibleSummaries(summaries).length === 0 &&
    hasMetric(first, metric) &&
    hasMetric(second, metric) &&
    sampleFault(first) === null &&
    sampleFault(second) === null &&
    sameSamples(first, second)
  );
}
