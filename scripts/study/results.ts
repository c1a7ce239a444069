import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readTrajectories } from '../../shared/artifacts/trajectories-parquet.js';
import type { StoredSummary } from '../../shared/evaluation/types.js';
import { WINDOW } from '../../shared/report/charts/reward-chart.js';
import { loadRun } from '../../shared/report/load-run.js';
import { datasetLength, findEvaluation, type ArmData, type RunData } from '../../shared/report/run-data.js';
import type { StudyRun } from './plan.js';

/** A model before and after training on the same items. Unit: share of right answers (sub_em), 0 … 1. */
export interface Comparison {
  /** Chunks of a context. */
  length: number;
  items: number;
  base: number;
  trained: number;
  /** 95 % bootstrap interval of the paired difference; absent where the run has none. */
  interval?: { low: number; high: number };
}

export interface ArmResult {
  arm: string;
  /** Mean reward of each step. */
  rewards: number[];
  first: number;
  last: number;
  /** Mean of the last steps. Unit: nats a token. */
  kl: number;
  /** Largest of all steps. */
  largestKl: number;
  entropy: number;
  /** Share of responses that hit their limit, in the last steps. */
  unended: number;
  comparisons: Comparison[];
}

export interface RunResult {
  run: StudyRun;
  arms: ArmResult[];
}

/** Reads what a finished run left in its folder. */
export async function readResult(run: StudyRun, folder: string): Promise<RunResult> {
  const data = await loadRun(folder);
  return { run, arms: data.arms.map((arm) => armResult(data, arm)) };
}

function armResult(data: RunData, arm: ArmData): ArmResult {
  const rewards = arm.rewards.map(({ reward }) => reward);
  const column = (name: string): readonly number[] => arm.metrics.get(name) ?? [];
  return {
    arm: arm.name,
    rewards,
    first: mean(rewards.slice(0, WINDOW)),
    last: mean(rewards.slice(-WINDOW)),
    kl: mean(column('kl').slice(-WINDOW)),
    largestKl: Math.max(...column('kl')),
    entropy: mean(column('entropy').slice(-WINDOW)),
    unended: 1 - mean(column('ended_share').slice(-WINDOW)),
    comparisons: data.datasets.flatMap((dataset) => comparison(data, arm.name, dataset) ?? []),
  };
}

function comparison(data: RunData, arm: string, dataset: string): Comparison | undefined {
  const length = datasetLength(dataset);
  const [base, trained] = ['base', arm].map((model) => findEvaluation(data, model, dataset)?.summary);
  if (length === undefined || base === undefined || trained === undefined) return undefined;
  const row = data.verdict?.baselines.find((each) => each.arm === arm && each.dataset === dataset);
  const statistics = row?.statistics;
  return {
    length,
    items: base.total,
    base: base.sub_em_pct / 100,
    trained: trained.sub_em_pct / 100,
    ...(statistics
      ? { interval: { low: statistics.bootstrap_low_points / 100, high: statistics.bootstrap_high_points / 100 } }
      : {}),
  };
}

/** One model with several tries an item. Shares, 0 … 1. */
export interface Tries {
  model: string;
  length: number;
  items: number;
  /** Mean over all samples. */
  one: number;
  /** Items with at least one right sample. */
  any: number;
}

export async function readTries(folder: string): Promise<Tries[]> {
  const data = await loadRun(folder);
  return data.evaluations.flatMap(({ model, dataset, summary }) => {
    const length = datasetLength(dataset);
    const stored = summary as StoredSummary | undefined;
    if (length === undefined || stored?.pass_at_n_pct === undefined) return [];
    const { items, sub_em_pct: one, pass_at_n_pct: any } = stored;
    return [{ model, length, items, one: one / 100, any: any / 100 }];
  });
}

/** Training prompts of a run, and the share of them with at least one rewarded trajectory in the group. */
export async function groupTries(folder: string, arm: string): Promise<{ prompts: number; any: number }> {
  const rollouts = join(folder, 'arms', arm, 'rollouts');
  const files = (await readdir(rollouts)).filter((name) => name.endsWith('.parquet')).sort();
  let [prompts, solved] = [0, 0];
  for (const file of files) {
    const best = new Map<number, number>();
    for (const { groupIndex, reward } of await readTrajectories(join(rollouts, file)))
      best.set(groupIndex, Math.max(reward, best.get(groupIndex) ?? 0));
    prompts += best.size;
    solved += [...best.values()].filter((reward) => reward > 0).length;
  }
  return { prompts, any: solved / prompts };
}

/** Arithmetic mean; NaN of nothing. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
