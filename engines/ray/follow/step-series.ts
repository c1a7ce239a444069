import { readFile } from 'node:fs/promises';
import { storageError, writeFileAtomic } from '../../../shared/artifacts/atomic-file.js';
import type { JobStep } from '../types.js';

/** A step of a training run, and which of its jobs did it: a line of `steps.jsonl`. */
export interface SeriesStep extends JobStep {
  attempt: number;
}

/**
 * The steps of a training run over all its jobs. A job that goes on from a checkpoint does the steps after it again, so from its
 * first step on only what it says counts.
 */
export function joinSeries(
  earlier: readonly SeriesStep[],
  attempt: { number: number; firstStep: number },
  current: ReadonlyMap<number, JobStep>
): SeriesStep[] {
  const kept = earlier.filter((record) => record.attempt < attempt.number && record.step < attempt.firstStep);
  const own = [...current.values()]
    .filter(({ step }) => step >= attempt.firstStep)
    .map((record) => ({ ...record, attempt: attempt.number }));
  return [...kept, ...own].sort((a, b) => a.step - b.step);
}

/** Steps 0 … n − 1 whose reward is known: n. */
export function rewardedSteps(series: readonly SeriesStep[]): number {
  const known = new Set(series.filter(({ reward }) => reward !== undefined).map(({ step }) => step));
  let steps = 0;
  while (known.has(steps)) steps += 1;
  return steps;
}

/** Rewards of steps 0, 1, … up to the first that has none. */
export function rewardsOf(series: readonly SeriesStep[]): number[] {
  const rewards = new Map(series.map(({ step, reward }) => [step, reward]));
  return Array.from({ length: rewardedSteps(series) }, (_, step) => rewards.get(step) as number);
}

/** @returns the steps of a file; none when it is not there. @throws PipelineError StorageFailed */
export async function readSeries(path: string): Promise<SeriesStep[]> {
  try {
    const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
    return lines.map((line) => JSON.parse(line) as SeriesStep);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw storageError(path, error);
  }
}

/** One line a step, sorted by step. */
export async function writeSeries(path: string, series: readonly SeriesStep[]): Promise<void> {
  await writeFileAtomic(path, series.map((record) => `${JSON.stringify(record)}\n`).join(''));
}
