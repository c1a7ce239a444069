import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PipelineError } from '../contracts/pipeline-error.js';
import type { Recipe } from '../contracts/recipe.js';
import type { EvaluationSample, EvaluationSummary } from '../scoring/evaluation-types.js';
import { summarizeRewards, type RewardSeriesSummary } from '../scoring/reward-series.js';
import type {
  ArmEvaluations,
  DatasetEvaluation,
  JudgeInput,
  ModelEvaluations,
  SampleScore,
} from '../scoring/verdict-types.js';

/** Name of the development set's files. */
export const DEV_DATASET = 'dev';

/** Name of the files of one evaluation length. */
export function lengthDataset(length: number): string {
  return `eval_${length}`;
}

/**
 * Everything the verdict of a run depends on, read from its directory alone, so that anybody can judge it again off-line.
 *
 * @throws PipelineError DataInvalid naming a file that is missing or not of its form
 */
export async function readJudgeInput(runDirectory: string): Promise<JudgeInput> {
  const recipe = await readJson<Recipe>(join(runDirectory, 'recipe.json'));
  const lengths = recipe.evaluation.lengths.map((length) => ({ dataset: lengthDataset(length), length }));
  const datasets = [DEV_DATASET, ...lengths.map(({ dataset }) => dataset)];
  const arms: ArmEvaluations[] = [];
  for (const name of Object.keys(recipe.arms).sort()) {
    const evaluations = await readModel(runDirectory, name, datasets);
    const rewards = await readRewards(join(runDirectory, 'arms', name, 'reward.csv'), recipe.grpo.steps);
    arms.push({ name, flavour: recipe.arms[name]!.flavour, evaluations, rewards });
  }
  return {
    metric: recipe.acceptance.metric,
    tolerancePoints: recipe.acceptance.tolerancePoints,
    lengths,
    devDataset: DEV_DATASET,
    base: await readModel(runDirectory, 'base', datasets),
    arms,
  };
}

async function readModel(runDirectory: string, model: string, datasets: readonly string[]): Promise<ModelEvaluations> {
  const evaluations: Record<string, DatasetEvaluation> = {};
  for (const dataset of datasets) {
    const folder = join(runDirectory, 'eval', model);
    const summary = await readJson<EvaluationSummary>(join(folder, `${dataset}.summary.json`));
    evaluations[dataset] = { summary, samples: await readSamples(join(folder, `${dataset}.jsonl`)) };
  }
  return evaluations;
}

/** Only the scores are kept: memories and responses may be large. */
async function readSamples(path: string): Promise<SampleScore[]> {
  const lines = (await readText(path)).split('\n').filter((line) => line !== '');
  return lines.map((line, index) => {
    const sample = parse<EvaluationSample>(line, `${path}: line ${index + 1}`);
    const { _id, pred, answer, judge_f1, judge_em, judge_sub_em, judge_boxed_em, context_truncated, error } = sample;
    const score = { _id, pred, answer, judge_f1, judge_em, judge_sub_em, judge_boxed_em, context_truncated };
    return error === undefined ? score : { ...score, error };
  });
}

/** The training's reward series; null when the run has none (an evaluation of given checkpoints). */
async function readRewards(path: string, steps: number): Promise<RewardSeriesSummary | null> {
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return null;
  const points = text
    .split('\n')
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => {
      const [step, reward] = line.split(',').map(Number);
      return { step: step ?? NaN, reward: reward ?? NaN };
    });
  return summarizeRewards(points, { steps });
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new PipelineError('DataInvalid', `${path} cannot be read: ${(error as Error).message}`, { where: path });
  }
}

async function readJson<T>(path: string): Promise<T> {
  return parse<T>(await readText(path), path);
}

function parse<T>(text: string, where: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new PipelineError('DataInvalid', `${where} is not JSON: ${(error as Error).message}`, { where });
  }
}
