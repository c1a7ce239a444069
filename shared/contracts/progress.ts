import type { ArtifactRef } from './artifact.js';
import type { FailureType } from './failures.js';

/** Answer of the query `progress` on `memAgentPipeline`: small facts only, a few KB. */
export interface Progress {
  pipelineId: string;
  /** The recipe's name. */
  recipe: string;
  /** SHA-256 of the normalized recipe, once resolved. */
  recipeHash?: string;
  state: PipelineState;
  /** ISO 8601 times. */
  startedAt: string;
  updatedAt: string;
  finishedAt?: string;
  stages: StageProgress[];
  arms: Record<string, ArmProgress>;
  /** Key `<model>/<dataset>`. */
  evaluations: Record<string, EvaluationProgress>;
  /** Latest attempts that failed or were repeated, oldest first, at most 50. */
  attempts: AttemptRecord[];
  /** Failed attempts in all, also those no longer listed. */
  failedAttempts: number;
  halt?: HaltState;
  /** Stages that are done and wait for the decision to go on. */
  pause?: PauseState;
  /** Stages that went on with the recipe's smaller settings after OutOfMemory. */
  fallbacks?: FallbackRecord[];
  /** What the operator should know and what changes nothing in the run: a webhook that failed, a stall that was observed. */
  warnings?: string[];
  /** Seconds to the end, estimated from the steps so far; absent before the first step. */
  etaSeconds?: number;
  /** Absolute path of the run's directory on the workers' file system. */
  runDirectory?: string;
  verdict?: VerdictFacts;
  artifacts: ArtifactRef[];
}

export type PipelineState = 'running' | 'paused' | 'halted' | 'completed' | 'failed' | 'cancelled';

export type StageState = 'pending' | 'running' | 'done' | 'reused' | 'failed' | 'halted' | 'cancelled';

export interface StageProgress {
  /** `resolve`, `data`, `screen` (where the recipe has it), `smoke:<arm>`, `train:<arm>`, `convert:<arm>`, `evaluate`, `judge`, `report`. */
  name: string;
  state: StageState;
  /** Task queue that does the stage's work. */
  queue: string;
  startedAt?: string;
  finishedAt?: string;
  /** Attempts of the stage's activities beyond the first of each. */
  retries: number;
  /** Seconds spent in attempts that failed. */
  secondsLost?: number;
  /** One sentence for people, e.g. what it waits for. */
  note?: string;
}

export interface ArmProgress {
  phase: 'smoke' | 'train';
  /** Steps finished in this phase. */
  step: number;
  totalSteps: number;
  /** Mean raw reward of each finished step; thinned to at most 120 points for long runs. */
  rewards: number[];
  kl?: number;
  loss?: number;
  /** Tokens trained and sampled per second in the latest step. */
  tokensPerSecond?: number;
  secondsPerStep?: number;
  weightsVersion: number;
  /** Turn ledger of the latest step. */
  ledger?: { generated: number; transferred: number; consumed: number };
  lastCheckpointStep?: number;
}

export interface EvaluationProgress {
  total: number;
  done: number;
  errors: number;
  /** Percent over the full total, when finished. */
  subEmPct?: number;
  boxedEmPct?: number;
}

export interface AttemptRecord {
  stage: string;
  activity: string;
  step?: number;
  /** What the activity was doing: `rollout`, `restore`, `train`, …; where known. */
  phase?: string;
  /** Host of the worker, where known. */
  host?: string;
  type: FailureType | string;
  message: string;
  at: string;
  /** Seconds between the attempt's start and its failure, where known. */
  secondsLost?: number;
}

export interface HaltState {
  stage: string;
  type: FailureType | string;
  message: string;
  cure: string;
  since: string;
  /** When the pipeline gives up waiting, if it does. */
  deadline?: string;
}

export interface PauseState {
  stages: string[];
  since: string;
}

export interface FallbackRecord {
  stage: string;
  at: string;
  /** Settings of `oomFallback` that are in use. */
  settings: Record<string, number>;
}

export interface VerdictFacts {
  outcome: VerdictOutcome;
  sentence: string;
}

export type VerdictOutcome = 'passed' | 'not-passed' | 'not-comparable';

/** Type of the failure of a paused run that a decision ended. */
export const ABORTED = 'Aborted';

export const DECISIONS = ['retry', 'abort', 'continue', 'retryFromStage'] as const;

/**
 * Argument of the update `decide`. `retry`: the halted stage again, from what is on disk. `retryFromStage`: the named stage is
 * made anew and every stage after it runs again (what its inputs leave unchanged is reused). `continue`: go on after a pause.
 * `abort`: the run ends.
 */
export interface Decision {
  action: (typeof DECISIONS)[number];
  /** With `retryFromStage`: a stage of `progress`, not after the one that waits. */
  stage?: string;
  note?: string;
}

export const PIPELINE_WORKFLOW_TYPE = 'memAgentPipeline';
export const PROGRESS_QUERY = 'progress';
export const DECIDE_UPDATE = 'decide';
export const CHILD_REPORT_SIGNAL = 'childReport';
