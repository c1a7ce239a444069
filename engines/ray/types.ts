/** What the parts of the job engine agree on: what is started, what a log says, what is kept. Types only. */
import type { Phase } from '../../shared/contracts/activities.js';
import type { FailureType } from '../../shared/contracts/failures.js';
import type { Recipe } from '../../shared/contracts/recipe.js';

/** Which framework a job runs: decides the forms of its log lines and checkpoints. */
export type Flavour = Recipe['arms'][string]['flavour'];

/** Ray's environment of a job, as the Jobs API takes it. Shown to everyone who can see the dashboard: no secrets. */
export interface RuntimeEnv {
  env_vars: Record<string, string>;
  working_dir?: string;
  excludes?: string[];
}

/** A file that must be at its place before the job starts, e.g. the framework's own configuration. */
export interface JobFile {
  /** Absolute path, on storage that the cluster sees. */
  path: string;
  text: string;
}

/** One job as it is submitted. The same recipe gives the same specification, byte for byte. */
export interface JobSpec {
  /** Shell command of the driver. */
  entrypoint: string;
  runtimeEnv: RuntimeEnv;
  /** Text to text: Ray refuses anything else. */
  metadata: Record<string, string>;
  entrypointResources?: Record<string, number>;
  files?: JobFile[];
}

/** A checkpoint that a job goes on from. */
export interface ResumePoint {
  /** Folder that holds the tracker file and the `iter_%07d` folders. */
  dir: string;
  /** Rollout id of the checkpoint's last step; the job's first step is the one after. */
  step: number;
}

/** Places and sizes of one job that do not come from the recipe. All paths are absolute and seen by the cluster. */
export interface LaunchFacts {
  /** Folder for checkpoints. */
  saveDir: string;
  /** Converted training data (JSONL). */
  trainData: string;
  /** Hugging Face folder of the base model. */
  modelDir: string;
  /** Steps of the whole run, also of a resumed one. */
  numRollout: number;
  resume: ResumePoint | undefined;
  /** Folder for the framework's own dumps and the launcher's files. */
  dumpDir: string;
}

/** From a recipe to the job of one arm. */
export type LaunchSpec = (recipe: Recipe, arm: string, phase: Phase, facts: LaunchFacts) => JobSpec;

/** Counts of a step's turn rows; absent where the framework does not print it. */
export interface StepCounts {
  generated?: number;
  transferred?: number;
  consumed?: number;
  /** Rows cut from the tail by the framework's own rule. */
  trimmed?: number;
}

/** What a log says of one step (rollout id). */
export interface JobStep {
  step: number;
  /** Mean raw reward, where it was printed. */
  reward?: number;
  /** Every number printed for the step, by the framework's key, e.g. `train/loss`. */
  metrics: Record<string, number>;
  counts: StepCounts;
}

/** Something in a log that does not fit. */
export interface LogProblem {
  type: FailureType;
  message: string;
}

/**
 * Reads a job's log as it grows. Text comes in pieces of any size, cut anywhere; lines that come again change nothing, values
 * that contradict each other are a problem.
 */
export interface StepLogReader {
  push(text: string): void;
  /** Takes what is left without a line end; after it nothing more is pushed. */
  end(): void;
  /** By rollout id; unordered, with gaps where the log has gaps. */
  readonly records: ReadonlyMap<number, JobStep>;
  readonly problems: readonly LogProblem[];
}

/** What is known of a job that is over. */
export interface JobEnd {
  status: 'STOPPED' | 'SUCCEEDED' | 'FAILED';
  message: string;
  exitCode: number | undefined;
  errorType: string | undefined;
  /** Last lines of its log. */
  logTail: string;
}

/** A failure in the terms of the failure table. */
export interface JobFailure {
  type: FailureType;
  /** For the user: what happened and where it is seen. */
  message: string;
  /** The lines that say so. */
  evidence: string[];
}

/** A complete checkpoint. */
export interface JobCheckpoint {
  step: number;
  /** Its own folder, `…/iter_%07d`. */
  path: string;
  /** Files relative to `path`, sorted. */
  files: { path: string; bytes: number }[];
  bytes: number;
}

export interface CheckpointSearch {
  newest: JobCheckpoint | undefined;
  /** Folders that were passed over, newest first. */
  skipped: { path: string; reason: string }[];
}
