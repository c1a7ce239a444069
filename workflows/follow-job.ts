import { sleep } from '@temporalio/workflow';
import type { TrainingJobArgs, TrainingJobResult } from '../shared/contracts/activities.js';
import type { ArmProgress } from '../shared/contracts/progress.js';
import { round } from './thin.js';

/** Between two questions whether the cluster is free: soon after short jobs, seldom during long ones. Unit: seconds. */
const FIRST_WAIT = 5;
const LONGEST_WAIT = 120;

/** What following a job does to the run that does it. */
export interface JobFollowing {
  totalSteps: number;
  /** Steps whose rewards are known. */
  knownSteps: number;
  /** Called before each slice with the number of those before it. */
  beforeSlice(done: number): Promise<void>;
  slice(bounds: Pick<TrainingJobArgs, 'fromStep' | 'untilStep' | 'submissionId'>): Promise<TrainingJobResult>;
  onWaiting(who: string | undefined): Promise<void>;
  onProgress(result: TrainingJobResult): Promise<void>;
}

/** Steps of one slice: each step in a short run, about a hundred slices in a long one. */
export function stepStride(totalSteps: number): number {
  return Math.max(1, Math.ceil(totalSteps / 100));
}

/**
 * Follows a training run that a framework does by itself, in slices, until its last step is done. The activity holds no slot of a
 * worker while the cluster is somebody else's: it says so and is asked again, because that somebody may need the same worker.
 */
export async function followJob(run: JobFollowing): Promise<void> {
  let known = run.knownSteps;
  let job: string | undefined;
  let waits = 0;
  for (let done = 0; ; done += 1) {
    await run.beforeSlice(done);
    const untilStep = Math.min(run.totalSteps, known + stepStride(run.totalSteps));
    const followed = job === undefined ? {} : { submissionId: job };
    const result = await run.slice({ fromStep: known, untilStep, ...followed });
    if (result.waitingFor !== undefined) {
      if (waits === 0) await run.onWaiting(result.waitingFor);
      const seconds = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.min(waits, 10));
      waits += 1;
      await sleep(`${seconds}s`, { summary: `the cluster belongs to ${result.waitingFor}`.slice(0, 200) });
      continue;
    }
    if (waits > 0) await run.onWaiting(undefined);
    waits = 0;
    await run.onProgress(result);
    if (result.finished) return;
    known = result.steps;
    job = result.submissionId;
  }
}

/** What a slice says of an arm, its rewards apart. */
export function jobProgress(result: TrainingJobResult): Partial<ArmProgress> {
  const { steps, kl, loss, tokensPerSecond, checkpointStep } = result;
  return {
    step: steps,
    weightsVersion: steps,
    ...(kl === undefined ? {} : { kl: round(kl, 6) }),
    ...(loss === undefined ? {} : { loss: round(loss, 6) }),
    ...(tokensPerSecond === undefined ? {} : { tokensPerSecond: Math.round(tokensPerSecond) }),
    ...(checkpointStep === undefined ? {} : { lastCheckpointStep: checkpointStep }),
  };
}
