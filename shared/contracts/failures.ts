/**
 * The one table of failures: every error that leaves an activity is one of these types.
 *
 * `retried` — Temporal retries it (with backoff) while the budget of attempts without progress lasts.
 * `afterwards` — what the pipeline does when it is not retried or the budget is used up.
 */
export interface FailureRule {
  retried: boolean;
  /** Attempts allowed without progress (a step that advanced refills the budget). 1 = never retried. */
  attempts: number;
  afterwards: 'fail' | 'halt' | 'not-comparable';
  meaning: string;
  /** What the operator should do, in one sentence. */
  cure: string;
}

export const FAILURE_TYPES = [
  'RecipeInvalid',
  'DataInvalid',
  'PinMismatch',
  'GenerationFailed',
  'ConversionFailed',
  'RowCountMismatch',
  'NonFiniteLoss',
  'CheckpointInvalid',
  'EngineUnavailable',
  'Stalled',
  'HostLost',
  'OutOfMemory',
  'StorageFailed',
  'EvaluationIncomplete',
] as const;

export type FailureType = (typeof FAILURE_TYPES)[number];

export const FAILURES: Readonly<Record<FailureType, FailureRule>> = {
  RecipeInvalid: {
    retried: false,
    attempts: 1,
    afterwards: 'fail',
    meaning: 'the recipe has wrong, missing or unknown fields',
    cure: 'Correct every listed field; `memagent recipe check FILE` finds them without starting anything.',
  },
  DataInvalid: {
    retried: false,
    attempts: 1,
    afterwards: 'fail',
    meaning: 'a data file is missing, torn, of the wrong form, or has no usable row',
    cure: 'Correct the file named in the message; rows that were skipped are listed with line numbers in the data manifest.',
  },
  PinMismatch: {
    retried: false,
    attempts: 1,
    afterwards: 'fail',
    meaning: 'a revision, hash, tokenizer or framework commit is not the one the recipe names',
    cure: 'Install the named revision or change the pin in the recipe; a changed pin is a different experiment.',
  },
  GenerationFailed: {
    retried: true,
    attempts: 5,
    afterwards: 'halt',
    meaning: 'the inference endpoint kept failing, or trajectories were aborted beyond the budget',
    cure: 'Look at the server’s log named in the message, then `memagent decide RUN --action retry`.',
  },
  ConversionFailed: {
    retried: false,
    attempts: 1,
    afterwards: 'halt',
    meaning: 'trajectories could not become training rows (alignment, group size, divisibility, capacity)',
    cure: 'The message names the trajectory and the check; correct the cause and decide retry, or abort.',
  },
  RowCountMismatch: {
    retried: false,
    attempts: 1,
    afterwards: 'halt',
    meaning: 'generated turns, transferred rows and consumed rows of a step are not equal',
    cure: 'Never train on: find where the rows were lost (the ledger of the step is in the message).',
  },
  NonFiniteLoss: {
    retried: false,
    attempts: 1,
    afterwards: 'halt',
    meaning: 'loss or gradient was not finite; nothing was applied',
    cure: 'Lower the learning rate or look at the rows of the step; then start a new run.',
  },
  CheckpointInvalid: {
    retried: false,
    attempts: 1,
    afterwards: 'halt',
    meaning: 'a checkpoint is incomplete, foreign, not finite, or equal to the base model',
    cure: 'The message lists the tensors or files; the previous complete checkpoint is still there.',
  },
  EngineUnavailable: {
    retried: true,
    attempts: 8,
    afterwards: 'halt',
    meaning: 'the engine refused connections, answered 5xx, or its process died',
    cure: 'Look at the engine log; `memagent decide RUN --action retry` restores it from the last checkpoint.',
  },
  Stalled: {
    retried: true,
    attempts: 3,
    afterwards: 'halt',
    meaning: 'no step was finished within the limit of its phase',
    cure: 'Look at the evidence in the run’s logs folder, then decide retry or abort.',
  },
  HostLost: {
    retried: true,
    attempts: 8,
    afterwards: 'halt',
    meaning: 'the worker’s host stopped answering (heartbeat time-out)',
    cure: 'Start a worker of the same role and tag; the run goes on from the last checkpoint.',
  },
  OutOfMemory: {
    retried: false,
    attempts: 1,
    afterwards: 'halt',
    meaning: 'memory of the device or of the host ran out',
    cure: 'Reduce the batch or tokens per device; the same settings would fail again.',
  },
  StorageFailed: {
    retried: true,
    attempts: 8,
    afterwards: 'halt',
    meaning: 'a file could not be written (disk full, no permission)',
    cure: 'Free space or correct the permission of the path in the message; nothing already written is lost.',
  },
  EvaluationIncomplete: {
    retried: true,
    attempts: 3,
    afterwards: 'not-comparable',
    meaning: 'some samples of an evaluation still have request errors',
    cure: 'Start the run again: only the failed samples are evaluated again.',
  },
};

/** Structured facts that travel with a failure (`ApplicationFailure.details[0]`); at most a few KB. */
export interface FailureDetails {
  /** Every problem found, one sentence each. */
  problems?: string[];
  /** Where: a file, a step, an endpoint. */
  where?: string;
  /** What to do, when more specific than the table's cure. */
  cure?: string;
  /** What the activity was doing, in the words of its progress reports. */
  phase?: string;
  /** Host of the worker. */
  host?: string;
  /** Submission id of the training job whose end it tells. */
  jobEnd?: string;
}

export function isFailureType(value: unknown): value is FailureType {
  return typeof value === 'string' && (FAILURE_TYPES as readonly string[]).includes(value);
}

/** Messages longer than this are cut before they leave an activity: failures above ~1 MB lose their type on the way. */
export const MAX_FAILURE_MESSAGE_BYTES = 8 * 1024;
