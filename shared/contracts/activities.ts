/**
 * The contract between workflows and activities: arguments and results of every activity. Results are references and small
 * facts, never data (architecture.md, "The chain"). Types and constants only: workflow code imports this file.
 */
import type { ArtifactRef } from './artifact.js';
import type { Progress, VerdictFacts } from './progress.js';
import type { Recipe } from './recipe.js';

/** Where a run lives; every activity gets it. */
export interface RunHandle {
  pipelineId: string;
  /** Absolute path of the folder of all runs, the same on every worker of the run. */
  root: string;
  /** SHA-256 of `recipe.json`; activities read the recipe from disk and check it. */
  recipeSha256: string;
  /** The recipe's `oomFallback` replaces the settings it names. */
  fallback?: true;
}

export type Phase = 'smoke' | 'train';

export interface ArmHandle {
  run: RunHandle;
  arm: string;
  phase: Phase;
}

export interface StepHandle extends ArmHandle {
  /** Rollout id: 0 … steps − 1. */
  step: number;
}

export interface ResolveResult {
  run: RunHandle;
  recipe: Recipe;
  recipeHash: string;
  runDirectory: string;
}

/** A converted data set: its file and counts. */
export interface DatasetFacts {
  ref: ArtifactRef;
  rows: number;
  skipped: number;
}

export interface PreparedData {
  train: DatasetFacts;
  /** `dev` and `eval_<length>`, in the order they are reported. */
  evaluation: Record<string, DatasetFacts>;
  manifest: ArtifactRef;
  reused: boolean;
}

/** The training prompts that the base model's own tries chose. */
export interface ScreenResult {
  manifest: ArtifactRef;
  train: ArtifactRef;
  /** Prompts tried, usable, and in each split. */
  candidates: number;
  usable: number;
  trainPrompts: number;
  heldOutPrompts: number;
  reused: boolean;
}

export interface OpenArmArgs extends ArmHandle {
  totalSteps: number;
}

/** What is already there of an arm: where to go on. */
export interface OpenArmResult {
  /** First step to do; equal to the number of steps when all are done. */
  nextStep: number;
  /** Mean raw reward of each finished step. */
  rewards: number[];
  /** Results of an equal earlier run, when the whole stage could be reused. */
  reusedFrom?: string;
  finished?: CloseArmResult;
}

export interface GenerateResult {
  trajectories: ArtifactRef;
  /** Turns of all trajectories: what must be transferred and consumed. */
  generatedTurns: number;
  meanReward: number;
  sampledTokens: number;
  promptTokens: number;
  seconds: number;
}

export interface ConvertResult {
  rows: ArtifactRef;
  producedRows: number;
  /** Rows cut from the tail (vime's rule). */
  trimmedRows: number;
}

export interface ConvertArgs extends StepHandle {
  trajectories: ArtifactRef;
}

export interface TrainArgs extends StepHandle {
  rows: ArtifactRef;
}

export interface TrainResult {
  result: ArtifactRef;
  consumedRows: number;
  /** Weights version after the update: step + 1. */
  weightsVersion: number;
  loss: number;
  kl: number;
  gradientNorm: number;
  entropy: number;
  trainedTokens: number;
  seconds: number;
}

export interface CheckpointResult {
  checkpoint: ArtifactRef;
  weightsVersion: number;
}

export interface CloseArmArgs extends ArmHandle {
  totalSteps: number;
}

export interface CloseArmResult {
  steps: number;
  firstWindowMean: number;
  lastWindowMean: number;
  rewards: number[];
  /** Artifacts: reward.csv, metrics.csv, gate.json of a smoke run. */
  artifacts: ArtifactRef[];
  /** Last checkpoint; its weights version is the number of steps. */
  checkpoint: ArtifactRef;
}

export interface ConvertCheckpointArgs {
  run: RunHandle;
  arm: string;
  checkpoint: ArtifactRef;
}

export interface ConvertCheckpointResult {
  model: ArtifactRef;
  tensors: number;
  /** Largest absolute difference of any weight from the base. */
  largestDifference: number;
  reused: boolean;
}

export interface EvaluateArgs {
  run: RunHandle;
  /** `base` or an arm's name. */
  model: string;
  dataset: string;
  /** Converted model of an arm; absent for the base. */
  weights?: ArtifactRef;
  /** Finish with the request errors that are left (the verdict is then "not comparable") instead of failing. */
  acceptErrors?: boolean;
}

export interface EvaluateResult {
  summary: ArtifactRef;
  samples: ArtifactRef;
  total: number;
  successful: number;
  errors: number;
  subEmPct: number;
  boxedEmPct: number;
  f1Pct: number;
  emPct: number;
  contextsTruncated: number;
  reused: boolean;
  seconds: number;
}

export interface JudgeArgs {
  run: RunHandle;
  models: string[];
  datasets: string[];
}

export interface JudgeResult {
  verdict: ArtifactRef;
  facts: VerdictFacts;
}

export interface ReportArgs {
  run: RunHandle;
  progress: Progress;
}

export interface ReportResult {
  report: ArtifactRef;
  manifest: ArtifactRef;
}

export interface SetAsideArgs {
  run: RunHandle;
  /** Stage whose files are to be made anew. */
  stage: string;
  models: string[];
  datasets: string[];
}

/** What a run knows of how its jobs ended. */
export interface HeardEnds {
  /** Nobody said since then how the job ended: those that were asked were given up, or failed otherwise. Unix milliseconds. */
  unheardSince?: number;
  /** Submission id of the last job whose end was told. */
  heardEnd?: string;
}

/** A training job is followed in slices: each call returns when the job got on, so that progress is in the workflow's history. */
export interface TrainingJobArgs extends ArmHandle, HeardEnds {
  totalSteps: number;
  /** Steps that are known already: rewards are given from here on. */
  fromStep: number;
  /** Return as soon as this many steps are done, at the latest when the job is over. */
  untilStep: number;
  /** Job that was followed last, so that it is noticed when another one does steps again. */
  submissionId?: string;
}

export interface StopEngineArgs extends ArmHandle {
  /** A training job that runs is left alone: nobody knows that it is at fault. */
  onlyIfOver?: true;
}

/** Where a training job is. */
export interface TrainingJobResult {
  /** Steps whose reward is known: 0 … this − 1. */
  steps: number;
  /** The job is over, its last step was reached and every step's reward is there. */
  finished: boolean;
  /** Ray's submission id of the job that is followed. */
  submissionId: string;
  /** Step of the first of `rewards`; before `fromStep` where a job went back to a checkpoint. */
  rewardsFrom: number;
  /** Mean raw reward of each finished step. */
  rewards: number[];
  /** Who has the cluster, when nothing could be done. */
  waitingFor?: string;
  kl?: number;
  loss?: number;
  gradientNorm?: number;
  tokensPerSecond?: number;
  /** Step of the newest complete checkpoint. */
  checkpointStep?: number;
}

/** Activities of role `data`. */
export interface DataActivities {
  resolveRecipe(args: { pipelineId: string; recipe: unknown }): Promise<ResolveResult>;
  prepareData(args: { run: RunHandle }): Promise<PreparedData>;
  setStageAside(args: SetAsideArgs): Promise<void>;
  openArm(args: OpenArmArgs): Promise<OpenArmResult>;
  convertRollouts(args: ConvertArgs): Promise<ConvertResult>;
  closeArm(args: CloseArmArgs): Promise<CloseArmResult>;
  judge(args: JudgeArgs): Promise<JudgeResult>;
  publishReport(args: ReportArgs): Promise<ReportResult>;
}

/** Activities of role `rollout`. */
export interface RolloutActivities {
  generateRollouts(args: StepHandle): Promise<GenerateResult>;
}

/** Activities of role `train`. */
export interface TrainActivities {
  trainStep(args: TrainArgs): Promise<TrainResult>;
  saveCheckpoint(args: StepHandle): Promise<CheckpointResult>;
  stopEngine(args: StopEngineArgs): Promise<void>;
  /** Engine ray: looks at the cluster before an arm's first job. Does nothing once a job of the arm was started. */
  preflight(args: ArmHandle): Promise<void>;
  /** Engine ray: follows the training job of an arm, and begins one when there is none. */
  runTrainingJob(args: TrainingJobArgs): Promise<TrainingJobResult>;
}

/** Activities of role `convert`. */
export interface ConvertActivities {
  convertCheckpoint(args: ConvertCheckpointArgs): Promise<ConvertCheckpointResult>;
}

/** Activities of role `evaluate`. */
export interface EvaluateActivities {
  screenData(args: { run: RunHandle }): Promise<ScreenResult>;
  evaluateModel(args: EvaluateArgs): Promise<EvaluateResult>;
  stopServing(args: { run: RunHandle; model: string }): Promise<void>;
}

export interface QueueFacts {
  queue: string;
  /** Workers that polled it lately. */
  pollers: number;
}

export interface ServerFacts {
  /** Names of our search attributes that the namespace knows. */
  searchAttributes: string[];
}

/** What a webhook gets: why the run stands still or how it ended. */
export interface RunNotice {
  event: 'halted' | 'paused' | 'completed' | 'failed' | 'cancelled';
  pipelineId: string;
  recipe: string;
  at: string;
  runDirectory?: string;
  stage?: string;
  type?: string;
  message?: string;
  cure?: string;
  verdict?: VerdictFacts;
}

export interface NotifyArgs {
  settings: NonNullable<Recipe['notify']>;
  notice: RunNotice;
}

/** Activities that every workflow worker runs, on the workflows' own queue. */
export interface WorkflowQueueActivities {
  notify(args: NotifyArgs): Promise<void>;
  inspectQueues(args: { queues: string[] }): Promise<QueueFacts[]>;
  inspectServer(args: object): Promise<ServerFacts>;
}

/** Type of the failure an activity ends with when its worker is shutting down: repeated at once, no budget spent. */
export const WORKER_SHUTDOWN = 'WorkerShutdown';

/** Search attributes set where the namespace has them. */
export const SEARCH_ATTRIBUTES = {
  stage: 'Stage',
  recipeHash: 'RecipeHash',
  globalStep: 'GlobalStep',
  lastFailureType: 'LastFailureType',
  arm: 'Arm',
} as const;
