import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatasetRow } from '../../contracts/dataset.js';
import type { Recipe } from '../../contracts/recipe.js';
import { aggregate } from '../../scoring/aggregate.js';
import type { EvaluationSample } from '../../scoring/evaluation-types.js';
import { scoreResponse } from '../../scoring/metrics.js';
import { hashFile } from '../atomic-file.js';
import { judgeDirectory, recipeDatasets } from '../judge-directory.js';
import { readJsonLines } from '../json-lines.js';
import { CheckBuilder, jsonOf, type VerifyCheck } from './check.js';

/** What a summary has to add up to; texts are dropped as soon as they are scored. */
type ScoredSample = Pick<
  EvaluationSample,
  'judge_f1' | 'judge_em' | 'judge_sub_em' | 'judge_boxed_em' | 'context_truncated' | 'context_tokens' | 'tokens_read'
> & { error?: string };

/** Every evaluated sample scored again from its response, against the data; every summary added up again. */
export async function verifyEvaluations(directory: string, recipe: Recipe): Promise<VerifyCheck> {
  const check = new CheckBuilder(
    'evaluations',
    'scores of every sample again from its response and the data, summaries again from the samples'
  );
  for (const dataset of recipeDatasets(recipe)) {
    const rows = new Map<number, Answers>();
    for (const model of ['base', ...Object.keys(recipe.arms)]) {
      const path = join(directory, 'eval', model, dataset);
      if (!existsSync(`${path}.summary.json`)) continue;
      const data = `data/${dataset}.jsonl`;
      if (rows.size === 0) await check.attempt(data, () => readAnswers(directory, data, rows));
      const name = `eval/${model}/${dataset}`;
      await check.attempt(name, () => verifyEvaluation(directory, { name, model, data, rows }, check));
    }
  }
  return check.done();
}

/** The verdict again from summaries, samples and reward series: the same bytes. */
export async function verifyVerdict(directory: string, recipe: Recipe): Promise<VerifyCheck> {
  const check = new CheckBuilder('verdict', 'the verdict again from summaries, samples and reward series');
  const path = join(directory, 'verdict.json');
  if (!existsSync(path)) return check.done();
  check.count();
  await check.attempt('verdict.json', async () => {
    const text = await readFile(path, 'utf8');
    const derived = await judgeDirectory(directory, recipe);
    if (text === `${JSON.stringify(derived, null, 2)}\n`) return;
    const recorded = JSON.parse(text) as Record<string, unknown>;
    for (const [field, value] of Object.entries(derived))
      check.equal(`verdict.json, ${field}`, recorded[field], jsonOf(value));
    check.problem('verdict.json is not what follows from the evaluations.');
  });
  return check.done();
}

/** What a person may look up of a data row. */
export interface Answers {
  question: string;
  answers: string[];
}

/** Questions and answers of a converted data set, by row. */
export async function readAnswers(directory: string, data: string, rows: Map<number, Answers>): Promise<void> {
  await readJsonLines(join(directory, data), (value) => {
    const { metadata } = value as DatasetRow;
    rows.set(rows.size, { question: metadata.question, answers: metadata.ground_truth });
  });
}

/** An evaluation in a run: `<name>.jsonl` and `<name>.summary.json`, of a model on a data file. */
export interface Place {
  name: string;
  model: string;
  /** Data file, relative to the run. */
  data: string;
  rows: ReadonlyMap<number, Answers>;
}

/** One evaluation's samples scored again, and its summary added up again. */
export async function verifyEvaluation(directory: string, place: Place, check: CheckBuilder): Promise<void> {
  const { name } = place;
  const path = join(directory, name);
  const summary = JSON.parse(await readFile(`${path}.summary.json`, 'utf8')) as Record<string, unknown>;
  const perItem = typeof summary['sampling_count'] === 'number' ? summary['sampling_count'] : 1;
  const samples: ScoredSample[] = [];
  const bad = await readJsonLines(`${path}.jsonl`, (value) => {
    const sample = value as EvaluationSample;
    verifySample(`${name}.jsonl, sample ${samples.length}`, sample, samples.length, perItem, place, check);
    samples.push(keep(sample));
    check.count();
  });
  if (bad > 0) check.problem(`${name}.jsonl has ${bad} lines that are not JSON.`);
  const sum = (field: 'context_tokens' | 'tokens_read'): number =>
    samples.reduce((total, sample) => total + sample[field], 0);
  const derived: Record<string, unknown> = {
    ...aggregate(samples as EvaluationSample[]),
    contexts_truncated: samples.filter((sample) => sample.context_truncated).length,
    data_sha256: (await hashFile(join(directory, place.data))).sha256,
    model: place.model,
    context_tokens: sum('context_tokens'),
    tokens_read: sum('tokens_read'),
    samples_sha256: (await hashFile(`${path}.jsonl`)).sha256,
  };
  for (const [field, value] of Object.entries(derived)) {
    // The last fields are not in every evaluator's summary; those of the reference are.
    if (field in summary || REFERENCE_FIELDS.has(field))
      check.equal(`${name}.summary.json, ${field}`, summary[field], value);
  }
}

const REFERENCE_FIELDS = new Set(['total', 'successful', 'errors', 'f1', 'em', 'sub_em', 'boxed_em', 'data_sha256']);

function verifySample(
  where: string,
  sample: EvaluationSample,
  at: number,
  perItem: number,
  place: Place,
  check: CheckBuilder
): void {
  check.equal(`${where}, index`, sample.index, at);
  const row = place.rows.get(Math.floor(at / perItem));
  if (row !== undefined) {
    check.equal(`${where}, answers`, [sample.question, sample.answers], [row.question, row.answers]);
  }
  check.equal(`${where}, answer`, sample.answer, sample.answers[0] ?? '');
  const failed = sample.error !== undefined && sample.error !== '';
  const scores = failed
    ? { pred: '', judge_f1: 0, judge_em: 0, judge_sub_em: 0, judge_boxed_em: 0 }
    : scoreResponse(sample.response, sample.answers);
  const { pred, judge_f1, judge_em, judge_sub_em, judge_boxed_em } = sample;
  check.equal(`${where}, scores`, { pred, judge_f1, judge_em, judge_sub_em, judge_boxed_em }, scores);
}

function keep(sample: EvaluationSample): ScoredSample {
  const { judge_f1, judge_em, judge_sub_em, judge_boxed_em, context_truncated, context_tokens, tokens_read } = sample;
  const kept = { judge_f1, judge_em, judge_sub_em, judge_boxed_em, context_truncated, context_tokens, tokens_read };
  return sample.error === undefined ? kept : { ...kept, error: sample.error };
}
