import { Pool } from 'undici';
import { isFailureType } from '../../../shared/contracts/failures.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';

/** Optimizer and loss settings of a training call, in the recipe's terms. */
export interface TrainHyper {
  learningRate: number;
  betas: readonly [number, number];
  epsilon: number;
  weightDecay: number;
  gradientClip: number;
  klCoefficient: number;
  clip: readonly [number, number];
  lossReduction: 'sample_mean' | 'token_mean';
  /** Sampling temperature the old log-probs were recorded at. */
  temperature: number;
}

export interface TrainCall {
  step: number;
  /** Number of updates applied before this one; another number is refused. */
  expected_weights_version: number;
  /** Parquet file of the step's rows and its SHA-256. */
  rows: { path: string; sha256: string };
  hyper: TrainHyper;
}

export interface TrainReply {
  step: number;
  weights_version: number;
  consumed_rows: number;
  loss: number;
  policy_loss: number;
  kl: number;
  entropy: number;
  clip_fraction: number;
  grad_norm: number;
  ppo_kl: number;
  max_logprob_difference: number;
  mean_ratio: number;
  /** Smallest and largest probability ratio of a trained token: 1 on policy. */
  min_ratio: number;
  max_ratio: number;
  trained_tokens: number;
  total_tokens: number;
  ended_share: number;
  seconds: number;
}

export interface ActorState {
  /** Updates applied to the base. */
  weights_version: number;
  optimizer_step: number;
}

export interface ScoreCall {
  expected_weights_version: number;
  /** The last `response_length` tokens of a row are scored. */
  rows: { tokens: readonly number[]; response_length: number }[];
  temperature: number;
}

interface CallOptions {
  signal?: AbortSignal;
}

/** Longest training call before it is given up: the activity's own time-out is the real limit. */
const CALL_MS = 3_600_000;

/** Client of the actor's calls of an embedded engine. Errors keep their type of the failure table. */
export class EmbeddedActorClient {
  private readonly pool: Pool;

  constructor(readonly endpoint: string) {
    this.pool = new Pool(endpoint, { connections: 2, headersTimeout: CALL_MS, bodyTimeout: CALL_MS });
  }

  state(options: CallOptions = {}): Promise<ActorState> {
    return this.call<ActorState>('GET', '/actor/state', undefined, options);
  }

  trainStep(call: TrainCall, options: CallOptions = {}): Promise<TrainReply> {
    return this.call<TrainReply>('POST', '/actor/train_step', call, options);
  }

  async saveCheckpoint(
    call: { dir: string; extra?: Record<string, unknown> },
    options: CallOptions = {}
  ): Promise<void> {
    await this.call('POST', '/actor/save_checkpoint', call, options);
  }

  /** Writes the weights of a version as a Hugging Face model folder. */
  async exportModel(
    call: { dir: string; expected_weights_version: number },
    options: CallOptions = {}
  ): Promise<ActorState> {
    return await this.call<ActorState>('POST', '/actor/export_model', call, options);
  }

  /** Log-probs of each row's response under the weights of a version, at a temperature. */
  async score(call: ScoreCall, options: CallOptions = {}): Promise<number[][]> {
    return (await this.call<{ log_probs: number[][] }>('POST', '/actor/score', call, options)).log_probs;
  }

  async loadCheckpoint(call: { dir: string }, options: CallOptions = {}): Promise<ActorState> {
    return await this.call<ActorState>('POST', '/actor/load_checkpoint', call, options);
  }

  /** Back to the base: version 0. */
  async reset(options: CallOptions = {}): Promise<ActorState> {
    return await this.call<ActorState>('POST', '/actor/reset', {}, options);
  }

  close(): Promise<void> {
    return this.pool.destroy();
  }

  private async call<T>(method: 'GET' | 'POST', path: string, body: unknown, options: CallOptions): Promise<T> {
    let status: number;
    let text: string;
    try {
      const reply = await this.pool.request({
        method,
        path,
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
      status = reply.statusCode;
      text = await reply.body.text();
    } catch (error) {
      options.signal?.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      throw new PipelineError(
        'EngineUnavailable',
        `${method} ${this.endpoint}${path}: ${reason}`,
        {},
        { cause: error }
      );
    }
    if (status !== 200) throw errorOf(`${method} ${path}`, status, text);
    return JSON.parse(text) as T;
  }
}

function errorOf(call: string, status: number, text: string): PipelineError {
  let type: unknown;
  let message = text.slice(0, 500);
  try {
    const { error } = JSON.parse(text) as { error?: { type?: unknown; message?: string } };
    type = error?.type;
    message = error?.message ?? message;
  } catch {
    // Not JSON: the text itself is the message.
  }
  return new PipelineError(isFailureType(type) ? type : 'EngineUnavailable', `${call}: ${status}: ${message}`);
}
