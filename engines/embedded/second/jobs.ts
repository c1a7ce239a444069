/** What the second thread of a policy is asked for, and what it answers. */
import type { GenerationRequest, GenerationResult, OnToken } from '../policy-api.js';
import type { ScoredRow, Scores } from '../train/scoring.js';

/** Packs of rows to compute. */
export interface ScoreJob {
  kind: 'score';
  packs: { rows: ScoredRow[]; token: number }[];
  temperature: number;
  gradients: boolean;
  /** In shared memory: the second thread fills in the tokens of its packs. */
  scores: Scores;
}

/** Steps of the generator: see `Generator.advance`. */
export interface GenerateJob {
  kind: 'generate';
  /** New requests. */
  submitted: GenerationRequest[];
  /** Ids of requests that end now. */
  aborted: string[];
  /** Keys and values of earlier weights must be forgotten first. */
  flush: boolean;
  /** Tokens to make for every running sequence, at most. */
  steps: number;
  /** Tokens are wanted as they come. */
  streams: boolean;
}

/** Answer to a {@link GenerateJob}. */
export interface Generated {
  results: GenerationResult[];
  /** Arguments of `onToken`, in order; empty when nobody wants them. */
  tokens: Parameters<OnToken>[];
}

export type SecondJob = ScoreJob | GenerateJob;

/** A job on its way. */
export interface GivenJob {
  job: SecondJob;
  /** The parameters were written anew since the last job. */
  newWeights: boolean;
}

/** How a job ended. */
export type JobEnd = { value: Generated | null } | { failure: string };
