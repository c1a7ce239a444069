import type { Phase } from '../../../shared/contracts/activities.js';
import type { Flavour, JobSpec, ResumePoint } from '../types.js';

/** A training run of one arm as jobs: everything that is the same for all of them. Paths are absolute. */
export interface TrainingPlan {
  pipelineId: string;
  arm: string;
  phase: Phase;
  totalSteps: number;
  flavour: Flavour;
  /** Trajectories of one step: prompts × group size. */
  trajectories: number;
  /** Folder of all runs: where the cluster's lease is. */
  root: string;
  /** Folder of lineage, steps and logs. */
  folder: string;
  /** Folder the jobs save to. */
  checkpoints: string;
  /** The job that begins at step 0, or goes on from a checkpoint. */
  spec(resume: ResumePoint | undefined): JobSpec;
}

/** What a follower needs from the activity it runs in. */
export interface FollowHooks {
  signal: AbortSignal;
  report(progress: JobReport): void;
  /** @throws PipelineError HostLost when a newer attempt of the activity has begun */
  fence(): Promise<void>;
  /** How long the cluster may be out of sight before a person is asked. Unit: milliseconds. */
  patienceMs: number;
}

/** Where a job is; the stall detection measures by it, so it holds nothing that changes while the job stands still. */
export interface JobReport extends Record<string, unknown> {
  phase: 'start' | 'step' | 'finish';
  /** Steps whose reward is known. */
  step: number;
  reward?: number;
  job: string;
  checkpoint?: number;
}

/** Keys of the metadata by which a job of ours is known, whoever looks. */
export const METADATA = {
  run: 'memagent.run',
  arm: 'memagent.arm',
  phase: 'memagent.phase',
  attempt: 'memagent.attempt',
  spec: 'memagent.spec',
} as const;
