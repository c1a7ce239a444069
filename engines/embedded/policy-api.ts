/**
 * What the engine's arithmetic offers to the server around it. One policy lives in one thread and is called synchronously;
 * shapes are Qwen3's (embedded-policy.md), all numbers float32 inside.
 */
import type { KernelKind } from './kernels/kernels.js';

/** Names one draw of the counter-based sampler; the engine adds the position. Equal keys give equal tokens, whatever the batch. */
export interface SamplingKey {
  seed: number;
  /** Training step (rollout id), or a number of the evaluation. */
  rolloutId: number;
  /** Prompt number within the step. */
  prompt: number;
  /** Sample number within the prompt. */
  sample: number;
  turn: number;
}

/** Shape of a Qwen3ForCausalLM, from config.json of either style. */
export interface Qwen3Config {
  vocabSize: number;
  hiddenSize: number;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  intermediateSize: number;
  ropeTheta: number;
  rmsNormEps: number;
  tied: boolean;
  maxPositions: number;
}

/** A weight as Hugging Face names and lays it out: row-major, matrices [out, in]. */
export interface NamedTensor {
  name: string;
  shape: readonly number[];
  data: Float32Array;
}

export interface GenerationRequest {
  id: string;
  promptIds: readonly number[];
  /** 0 = score the prompt only. */
  maxNewTokens: number;
  /** 0 = greedy, lowest id on ties. */
  temperature: number;
  topP: number;
  /** −1 = off. */
  topK: number;
  stopTokenIds: readonly number[];
  samplingKey: SamplingKey;
  /** Return this many top log-probs for every output position, and for every prompt position that is scored; 0 = none. */
  topLogProbs: number;
  /** Return log-probs of the prompt from this position on; −1 = none. */
  promptLogProbsFrom: number;
}

export interface TopLogProb {
  id: number;
  logProb: number;
}

export interface GenerationResult {
  id: string;
  outputIds: number[];
  /** Log-softmax(logits / temperature) of each output id; temperature 0 counts as 1 (SGLang's rule). No top-p/top-k in it. */
  outputLogProbs: number[];
  outputTop: TopLogProb[][];
  /** Unscaled log-probs of promptIds[promptLogProbsFrom..]; null for position 0. */
  promptLogProbs: (number | null)[];
  /** As many top log-probs for each of these positions as `topLogProbs` asked for, unscaled; null for position 0. */
  promptTop: (TopLogProb[] | null)[];
  finish:
    { type: 'stop'; matched: number } | { type: 'length' } | { type: 'abort' } | { type: 'error'; message: string };
}

/** Takes a token as soon as it is made. */
export type OnToken = (id: string, tokenId: number, logProb: number) => void;

/** Continuous batching: finished sequences are replaced at once by waiting ones. Results never depend on what shares the batch. */
export interface Generator {
  submit(request: GenerationRequest): void;
  /** True while anything waits or runs. */
  hasWork(): boolean;
  /**
   * Admits waiting requests, advances every running sequence by one token (on two threads by a few where none waits), returns those
   * that finished. `onToken` streams.
   */
  advance(onToken?: OnToken): GenerationResult[];
  /** Ends a waiting or running request; its result (type abort) comes with the next `advance`. */
  abort(id: string): boolean;
  readonly running: number;
  readonly waiting: number;
}

/** One packed training row: the last `oldLogProbs.length` tokens are the response. */
export interface PolicyRow {
  tokens: readonly number[];
  responseLength: number;
  lossMask: readonly number[];
  oldLogProbs: readonly number[];
  /** Log-probs under the frozen base; computed by `referenceLogProbs` when absent. */
  refLogProbs?: readonly number[];
  advantage: number;
}

export interface LossOptions {
  clipLow: number;
  clipHigh: number;
  klCoefficient: number;
  /** Temperature of the log-probs (the sampling temperature). */
  temperature: number;
  reduction: 'sample_mean' | 'token_mean' | 'token_mean_min1';
  /** Clamp k3 to [−10, 10], no gradient beyond (slime, verl). */
  clampKl?: boolean;
}

export interface OptimizerOptions {
  learningRate: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  /** Decoupled; not on 1-D tensors (Megatron's convention). */
  weightDecay: number;
  /** Largest global L2 norm; 0 = no clipping. */
  gradientClip: number;
}

export interface LossMetrics {
  loss: number;
  policyLoss: number;
  kl: number;
  entropy: number;
  clipFraction: number;
  /** Mean of old − new log-prob. */
  ppoKl: number;
  /** Global L2 norm before clipping. */
  gradientNorm: number;
  /** Largest |log-prob now − log-prob when sampled| over trained tokens, before the update. */
  maxLogProbDifference: number;
  /** Mean of exp(new − old), weighted as the loss, and the smallest and largest one (0 when no token is trained). */
  meanRatio: number;
  minRatio: number;
  maxRatio: number;
  /** Response tokens with mask 1. */
  trainedTokens: number;
  /** All tokens of the batch. */
  totalTokens: number;
}

export interface Policy {
  readonly config: Qwen3Config;
  /** Which kernels run: their bits differ, so manifests record it. */
  readonly kernels: KernelKind;
  /** Longest sequence, tokens. */
  readonly maxSequence: number;
  readonly generator: Generator;
  /** Log-probs of the last `responseLength` tokens of each row at a temperature. */
  logProbs(rows: readonly Pick<PolicyRow, 'tokens' | 'responseLength'>[], temperature: number): Float32Array[];
  /** Full next-token logits of one sequence, [n][vocab] flattened: for tests and conformance. */
  logits(tokens: readonly number[]): Float32Array;
  /**
   * Forward and backward without update; gradients readable by `gradients()` (before clipping).
   *
   * @throws PipelineError ConversionFailed naming every row that cannot be trained on
   */
  computeGradients(rows: readonly PolicyRow[], loss: LossOptions, reference?: Policy): LossMetrics;
  gradients(): NamedTensor[];
  /**
   * One GRPO update. Missing refLogProbs are computed with `reference`. A batch whose masks are all zero changes nothing, not even
   * the optimizer's moments and update count.
   *
   * @throws PipelineError NonFiniteLoss — nothing was applied; ConversionFailed — rows that cannot be trained on
   */
  trainStep(
    rows: readonly PolicyRow[],
    loss: LossOptions,
    optimizer: OptimizerOptions,
    reference?: Policy
  ): LossMetrics;
  /** Supervised step of base training: loss = Σ weight × −log p over all rows, then one AdamW update. */
  supervisedStep(rows: readonly SupervisedRow[], optimizer: OptimizerOptions): { loss: number; gradientNorm: number };
  /** Copies, in Hugging Face's order. */
  weights(): NamedTensor[];
  /** @throws PipelineError CheckpointInvalid listing every missing, foreign, misshaped or non-finite tensor; nothing was set */
  setWeights(tensors: readonly NamedTensor[]): void;
  /** Adam moments, same names as the weights, and the update count. */
  optimizerState(): { step: number; first: NamedTensor[]; second: NamedTensor[] };
  setOptimizerState(state: { step: number; first: readonly NamedTensor[]; second: readonly NamedTensor[] }): void;
  /** Frees caches; the policy stays usable. */
  flushCache(): void;
  /** Ends the second thread, if there is one; the policy goes on with one. */
  close(): Promise<void>;
}

/** Tokens with a weight for predicting each of them (index 0 is never predicted); the loss is the sum of weight × −log p. */
export interface SupervisedRow {
  tokens: readonly number[];
  weights: readonly number[];
}

/** See Kernels.kind. */
export type { KernelKind };

export interface PolicyOptions {
  config: Qwen3Config;
  tensors: readonly NamedTensor[];
  /** Default simd when available. */
  kernels?: KernelKind;
  /** Sequences decoded at once. Default 64. */
  maxBatch?: number;
  /** Longest sequence, tokens. Default config.maxPositions. */
  maxSequence?: number;
  /** Threads that compute gradients and log-probs of rows and generate; results have the same bits. Default 1. */
  threads?: 1 | 2;
}
