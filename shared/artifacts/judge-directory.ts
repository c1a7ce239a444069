import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PipelineError } from '../contracts/pipeline-error.js';
import type { Recipe } from '../contracts/recipe.js';
import type { EvaluationSample, EvaluationSummary } from '../scoring/evaluation-types.js';
import { summarizeRewards, type RewardPoint, type RewardSeriesSummary } from '../scoring/reward-series.js';
import {
  judge,
  type DatasetEvaluation,
  type ModelEvaluations,
  type SampleScore,
  type Verdict,
} from '../scoring/verdict.js';
import { readJsonLines } from './json-lines.js';

/** Data set of the boxed-EM rule. */
export const DEV_DATASET = 'dev';

/** Name of the data set of a length. */
export function lengthDataset(length: number): string {
  return `eval_${length}`;
}

/** Data sets of a recipe in the order they are reported. */
export function recipeDatasets(recipe: Recipe): string[] {
  return [DEV_DATASET, ...recipe.evaluation.lengths.map(lengthDataset)];
}

/**
 * The verdict of a run from the files of its directory: `eval/<model>/<dataset>.jsonl` and `.summary.json` of the base and
 * of every arm, `arms/<arm>/reward.csv`. The same files give the same verdict. An evaluation that is not there makes the
 * outcome "not comparable".
 *
 * @throws PipelineError `DataInvalid` naming a file that is torn
 */
export async function judgeDirectory(directory: string, recipe: Recipe): Promise<Verdict> {
  const datasets = recipeDatasets(recipe);
  const arms = [];
  for (const [name, arm] of Object.entries(recipe.arms)) {
    arms.push({
      name,
      flavour: arm.flavour,
      evaluations: await readEvaluations(directory, name, datasets),
      rewards: await readRewards(join(directory, 'arms', name, 'reward.csv'), recipe.grpo.steps),
    });
  }
  return judge({
    metric: recipe.acceptance.metric,
    tolerancePoints: recipe.acceptance.tolerancePoints,
    lengths: recipe.evaluation.lengths.map((length) => ({ dataset: lengthDataset(length), length })),
    devDataset: DEV_DATASET,
    diagnostic: recipe.diagnostic === true,
    base: await readEvaluations(directory, 'base', datasets),
    arms,
  });
}

async function readEvaluations(
  directory: string,
  model: string,
  datasets: readonly string[]
): Promise<ModelEvaluations> {
  const evaluations: Record<string, DatasetEvaluation> = {};
  for (const dataset of datasets) {
    const path = join(directory, 'eval', model, dataset);
    const text = await readIfThere(`${path}.summary.json`);
    if (text === undefined) continue;
    evaluations[dataset] = {
      summary: parseSummary(`${path}.summary.json`, text),
      samples: await readScores(`${path}.jsonl`),
    };
  }
  return evaluations;
}

function parseSummary(path: string, text: string): EvaluationSummary {
  try {
    return JSON.parse(text) as EvaluationSummary;
  } catch (error) {
    throw dataInvalid(path, (error as Error).message);
  }
}

/** The fields a verdict needs; texts of memories and responses would fill the memory. */
export async function readScores(path: string): Promise<SampleScore[]> {
  const samples: SampleScore[] = [];
  const bad = await readJsonLines(path, (value) => {
    const sample = value as EvaluationSample;
    samples.push({
      _id: sample._id,
      pred: sample.pred,
      answer: sample.answer,
      judge_f1: sample.judge_f1,
      judge_em: sample.judge_em,
      judge_sub_em: sample.judge_sub_em,
      judge_boxed_em: sample.judge_boxed_em,
      context_truncated: sample.context_truncated,
      error: sample.error,
    });
  }).catch((error: Error) => {
    throw dataInvalid(path, error.message);
  });
  if (bad > 0) throw dataInvalid(path, `${bad} lines are not JSON`);
  return samples;
}

/** The complete reward series of an arm, or null where there is none: it is reported, not part of the rule. */
async function readRewards(path: string, steps: number): Promise<RewardSeriesSummary | null> {
  const text = await readIfThere(path);
  if (text === undefined) return null;
  return summarizeRewards(parseRewardCsv(path, text), { steps });
}

/** Points of a `step,reward` file. @throws PipelineError `DataInvalid` for another header or a line that is no point */
export function parseRewardCsv(path: string, text: string): RewardPoint[] {
  const [header, ...lines] = text.trimEnd().split('\n');
  if (header !== 'step,reward') throw dataInvalid(path, 'its header is not "step,reward"');
  return lines.map((line) => {
    const cells = line.split(',');
    const [step, reward] = cells.map(Number);
    if (cells.length !== 2 || cells.includes('') || step === undefined || reward === undefined) {
      throw dataInvalid(path, `"${line.slice(0, 80)}" is not a step and a reward`);
    }
    return { step, reward };
  });
}

export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw dataInvalid(path, (error as Error).message);
  }
}

export function dataInvalid(path: string, reason: string): PipelineError {
  return new PipelineError('DataInvalid', `cannot read ${path}: ${reason}.`, { where: path });
}
