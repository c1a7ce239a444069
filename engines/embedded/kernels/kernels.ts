/**
 * The operations the policy is made of, over one heap of float32 numbers. Two implementations: `simd` (WebAssembly, fast) and
 * `reference` (plain TypeScript, readable). Offsets and row strides count floats; integer arrays lie in the same heap as int32.
 * Rows of a matrix are contiguous unless a stride (`ld…`) is given.
 *
 * Rule of both: the result of a row never depends on which other rows are computed with it.
 */
export type Offset = number;

/** A weight matrix [outputs, inputs] as Hugging Face stores it, and room for the copies an implementation keeps of it. */
export interface Linear {
  inputs: number;
  outputs: number;
  weight: Offset;
  /** `linearPanelFloats` floats for Y = X Wᵀ. */
  forwardPanels: Offset;
  /** `linearPanelFloats` floats for dX = dY W. */
  backwardPanels: Offset;
}

/** Heads of one attention layer. */
export interface AttentionShape {
  heads: number;
  kvHeads: number;
  headDim: number;
}

/** Table of cos and sin of the rotary angles: [positions, headDim / 2] each. */
export interface RopeTable {
  cos: Offset;
  sin: Offset;
}

export interface Heads {
  heads: number;
  headDim: number;
}

export interface AttentionBackwardArguments {
  q: Offset;
  ldq: number;
  k: Offset;
  ldk: number;
  v: Offset;
  ldv: number;
  dOut: Offset;
  ldOut: number;
  /** Gradients, strides as q, k, v; overwritten. */
  dq: Offset;
  dk: Offset;
  dv: Offset;
  /** Positions of the sequence; its last `count` were queried. */
  length: number;
  count: number;
}

export interface AdamwArguments {
  parameter: Offset;
  gradient: Offset;
  first: Offset;
  second: Offset;
  length: number;
  /** Factor on the gradient. */
  clip: number;
  learningRate: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  /** Number of this update, from 1. */
  step: number;
}

/** Floats of `stats` a row: largest scaled logit, log Σ e, 1 / Σ e, entropy. */
export const LOG_SOFTMAX_STATS = 4;

/**
 * `simd` = WebAssembly (widths in multiples of 4); `simd-fused` = the same with fused multiply-add in the matrix product, faster
 * and with other bits; `reference` = plain TypeScript.
 */
export type KernelKind = (typeof KERNEL_KINDS)[number];
export const KERNEL_KINDS = ['simd', 'simd-fused', 'reference'] as const;

export interface Kernels {
  readonly kind: KernelKind;
  readonly heap: Float32Array;
  /** The same memory as 32-bit integers. */
  readonly ints: Int32Array;

  /** Call after the weight changed. */
  refreshLinear(linear: Linear): void;
  /** y (+)= x Wᵀ; x [rows, ldx], y [rows, ldy]. */
  linearForward(
    linear: Linear,
    x: Offset,
    ldx: number,
    rows: number,
    y: Offset,
    ldy: number,
    accumulate: boolean
  ): void;
  /** dx (+)= dy W. */
  linearBackwardInput(
    linear: Linear,
    dy: Offset,
    ldy: number,
    rows: number,
    dx: Offset,
    ldx: number,
    accumulate: boolean
  ): void;
  /** gradient [outputs, inputs] += dyᵀ x. */
  linearBackwardWeight(
    linear: Linear,
    dy: Offset,
    ldy: number,
    x: Offset,
    ldx: number,
    rows: number,
    gradient: Offset
  ): void;

  rmsNormForward(x: Offset, rows: number, width: number, weight: Offset, eps: number, y: Offset): void;
  /** dx (+)= …; dWeight += …. */
  rmsNormBackward(
    x: Offset,
    rows: number,
    width: number,
    weight: Offset,
    eps: number,
    dy: Offset,
    dx: Offset,
    accumulate: boolean,
    dWeight: Offset
  ): void;

  /** Per head RMSNorm, then rotary embedding. `positions`: int32 a row. */
  normRopeForward(
    x: Offset,
    ldx: number,
    rows: number,
    heads: Heads,
    weight: Offset,
    eps: number,
    positions: Offset,
    rope: RopeTable,
    y: Offset,
    ldy: number
  ): void;
  /** dy is changed in place; dx overwritten; dWeight += …. */
  normRopeBackward(
    x: Offset,
    ldx: number,
    rows: number,
    heads: Heads,
    weight: Offset,
    eps: number,
    positions: Offset,
    rope: RopeTable,
    dy: Offset,
    lddy: number,
    dx: Offset,
    lddx: number,
    dWeight: Offset
  ): void;

  /** Stores k, v of `count` positions from `position` on in a sequence's cache (layout private to the implementation). */
  appendKeyValue(
    shape: AttentionShape,
    k: Offset,
    ldk: number,
    v: Offset,
    ldv: number,
    count: number,
    position: number,
    cache: Offset,
    capacity: number
  ): void;
  /** Copies the first `count` positions from one cache to another of the same capacity. */
  copyKeyValue(shape: AttentionShape, from: Offset, to: Offset, count: number, capacity: number): void;
  /** Causal attention of `count` queries at position, position + 1, … over the cache. */
  attend(
    shape: AttentionShape,
    q: Offset,
    ldq: number,
    count: number,
    position: number,
    cache: Offset,
    capacity: number,
    out: Offset,
    ldOut: number
  ): void;
  attentionBackward(shape: AttentionShape, args: AttentionBackwardArguments): void;

  /** act [rows, width] from gateUp [rows, 2 width]: gates, then ups. */
  swigluForward(gateUp: Offset, rows: number, width: number, act: Offset): void;
  /** Overwrites gateUp with its gradient. */
  swigluBackward(gateUp: Offset, rows: number, width: number, dAct: Offset): void;

  /** target[i] = source[index[i]]. */
  gatherRows(source: Offset, index: Offset, rows: number, width: number, target: Offset): void;
  /** target[index[i]] += source[i]. */
  scatterAddRows(source: Offset, index: Offset, rows: number, width: number, target: Offset): void;

  /** exps = exp(logits / temperature − max), stats as LOG_SOFTMAX_STATS; ld a multiple of 8 ≥ vocab. */
  logSoftmax(
    logits: Offset,
    ld: number,
    rows: number,
    vocab: number,
    temperature: number,
    exps: Offset,
    stats: Offset
  ): void;
  /** Overwrites exps with dL/dlogits = coefficient / temperature · (onehot(target) − p). */
  logSoftmaxBackward(
    exps: Offset,
    ld: number,
    rows: number,
    temperature: number,
    stats: Offset,
    targets: Offset,
    coefficients: Offset
  ): void;

  /** Σ x² in double precision. */
  squareSum(x: Offset, length: number): number;
  /** target += source. */
  addInto(target: Offset, source: Offset, length: number): void;
  adamw(args: AdamwArguments): void;
}
