import type { FailureDetails, FailureType } from '../contracts/failures.js';
import type { PreparedContext } from '../memory/types.js';

/** Work that a tokenizer's worker thread does, with what comes back. */
export interface PoolJobs {
  encode: { job: { kind: 'encode'; text: string; limit?: number }; result: readonly number[] };
  chunk: {
    job: { kind: 'chunk'; context: string; chunkTokens: number; maxChunks: number };
    result: PreparedContext;
  };
  truncate: {
    job: { kind: 'truncate'; text: string; maxTokens: number };
    result: { text: string; length: number };
  };
}

export type JobKind = keyof PoolJobs;
export type PoolJob = PoolJobs[JobKind]['job'];

/** First value a worker thread is given. */
export interface WorkerData {
  directory: string;
}

export type WorkerReply =
  { ok: true; result: unknown } | { ok: false; message: string; type?: FailureType; details?: FailureDetails };
