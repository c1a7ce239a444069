import { secondsBetween } from '../format.js';
import type { RunData } from '../run-data.js';

/** What a run took. Unit of times: seconds. */
export interface RunCost {
  wallSeconds: number | undefined;
  /** Sum over the stages, so that stages which ran side by side count both. */
  stageSeconds: number | undefined;
  failedAttempts: number | undefined;
  lostSeconds: number | undefined;
  /** CPU time of workers and engines, as far as it was measured. */
  cpuSeconds: number | undefined;
  gpuSeconds: number | undefined;
  /** Wasted part of it, 0 … 1. */
  wastedShare: number | undefined;
  /** Tokens that were trained on, all arms. */
  trainedTokens: number;
  /** Stages taken over from another run, which cost nothing here. */
  reusedStages: number;
}

export function costOf({ progress, arms, cost }: RunData): RunCost {
  const columns = arms.map(({ metrics }) => metrics.get('trained_tokens') ?? []);
  const trainedTokens = columns.flat().reduce((sum, tokens) => sum + tokens, 0);
  const measured = {
    cpuSeconds: cost === undefined ? undefined : cost.total.workerCpuSeconds + cost.total.engineCpuSeconds,
    gpuSeconds: cost?.total.gpuSeconds,
    wastedShare: cost?.wastedShare,
  };
  if (progress === undefined)
    return {
      ...measured,
      wallSeconds: undefined,
      stageSeconds: undefined,
      failedAttempts: undefined,
      lostSeconds: undefined,
      trainedTokens,
      reusedStages: 0,
    };
  const seconds = progress.stages.map(({ startedAt, finishedAt }) => secondsBetween(startedAt, finishedAt) ?? 0);
  return {
    ...measured,
    wallSeconds: secondsBetween(progress.startedAt, progress.finishedAt ?? progress.updatedAt),
    stageSeconds: seconds.reduce((sum, each) => sum + each, 0),
    failedAttempts: progress.failedAttempts,
    lostSeconds: progress.attempts.reduce((sum, { secondsLost }) => sum + (secondsLost ?? 0), 0),
    trainedTokens,
    reusedStages: progress.stages.filter(({ state }) => state === 'reused').length,
  };
}
