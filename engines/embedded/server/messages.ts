import type { GenerationRequest, GenerationResult, KernelKind } from '../policy-api.js';

/** What the HTTP thread sends to the compute thread. */
export type ToCompute =
  | { type: 'generate'; requests: GenerationRequest[]; streamed: boolean }
  | { type: 'abort'; ids: string[] | 'all' }
  | { type: 'pause'; paused: boolean }
  | { type: 'call'; call: number; name: ComputeCall; args: unknown };

/** Calls that run between two tokens of the running batch. */
export const COMPUTE_CALLS = [
  'state',
  'train_step',
  'save_checkpoint',
  'export_model',
  'score',
  'load_checkpoint',
  'reset',
  'update_weights',
  'flush_cache',
  'set_version',
] as const;
export type ComputeCall = (typeof COMPUTE_CALLS)[number];

/** What the compute thread answers. */
export type FromCompute =
  | { type: 'ready'; facts: ModelFacts; weightVersion: string }
  /** The thread cannot go on. */
  | { type: 'failed'; message: string; failureType?: string }
  | { type: 'results'; results: GenerationResult[]; weightVersion: string }
  | { type: 'token'; id: string; tokenId: number; logProb: number }
  | { type: 'return'; call: number; value: unknown; weightVersion: string }
  | { type: 'throw'; call: number; message: string; failureType?: string; status: number };

export interface ModelFacts {
  vocabSize: number;
  contextLength: number;
  parameters: number;
  kernels: KernelKind;
}

export interface ComputeOptions {
  modelDir: string;
  /** Frozen reference of the KL term; default the model itself. */
  referenceDir?: string;
  mode: 'actor' | 'serve';
  /** Longest sequence, tokens; the model's own limit when that is smaller. */
  contextLength: number;
  /** Sequences decoded at once. Default 64. */
  maxBatch?: number;
  /** Default: plain SIMD where the machine has it, else the reference. */
  kernels?: KernelKind;
  /** Threads that train and score rows. Default 1. */
  threads?: 1 | 2;
}

export interface ComputeWorkerData extends ComputeOptions {
  /** Shared counter that wakes the compute thread: one 32-bit word, raised with every message. */
  wake: SharedArrayBuffer;
}
