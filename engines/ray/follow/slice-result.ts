import type { HeardEnds, TrainingJobArgs, TrainingJobResult } from '../../../shared/contracts/activities.js';
import type { JobAttempt } from './lineage.js';
import type { JobReport, TrainingPlan } from './plan.js';
import { rewardsOf, type SeriesStep } from './step-series.js';

/** Which part of a run a slice follows. */
export type SliceBounds = Pick<TrainingJobArgs, 'fromStep' | 'untilStep' | 'submissionId' | keyof HeardEnds>;

/** The result of a slice that could not begin. */
export const NOTHING_DONE: TrainingJobResult = {
  steps: 0,
  finished: false,
  submissionId: '',
  rewardsFrom: 0,
  rewards: [],
};

/** What is known of a run when a slice ends. */
export interface SliceEnd {
  attempt: JobAttempt;
  series: readonly SeriesStep[];
  bounds: SliceBounds;
  finished: boolean;
  /** Step of the newest complete checkpoint. */
  checkpointStep: number | undefined;
}

/** The result of a slice: rewards from where the workflow's own may be wrong. */
export function sliceResult({ attempt, series, bounds, finished, checkpointStep }: SliceEnd): TrainingJobResult {
  const rewards = rewardsOf(series);
  // A job that goes on from a checkpoint does steps again whose rewards are known already.
  const back = bounds.submissionId === attempt.submissionId ? bounds.fromStep : attempt.firstStep;
  const from = Math.min(bounds.fromStep, back, rewards.length);
  const metrics = series.find(({ step }) => step === rewards.length - 1)?.metrics ?? {};
  const facts = {
    kl: metrics['train/kl_loss'],
    loss: metrics['train/loss'],
    gradientNorm: metrics['train/grad_norm'],
    tokensPerSecond: metrics['perf/actor_train_tok_per_s'],
    checkpointStep,
  };
  return {
    steps: rewards.length,
    finished,
    submissionId: attempt.submissionId,
    rewardsFrom: from,
    rewards: rewards.slice(from).map((reward) => Math.round(reward * 1e6) / 1e6),
    ...(Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as Partial<
      Record<keyof typeof facts, number>
    >),
  };
}

/** Where a job is, for its heartbeat and the stall detection. */
export function jobReport(
  { totalSteps }: Pick<TrainingPlan, 'totalSteps'>,
  attempt: JobAttempt,
  series: readonly SeriesStep[],
  checkpoint: number | undefined
): JobReport {
  // A step whose reward is not printed is a step all the same: the job gets on.
  const latest = Math.max(attempt.firstStep, ...series.map(({ step }) => step + 1));
  const reward = rewardsOf(series).at(-1);
  return {
    phase: latest >= totalSteps ? 'finish' : latest > attempt.firstStep ? 'step' : 'start',
    step: latest,
    job: attempt.submissionId,
    ...(reward === undefined ? {} : { reward }),
    ...(checkpoint === undefined ? {} : { checkpoint }),
  };
}
