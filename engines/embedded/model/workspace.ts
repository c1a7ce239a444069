import { LOG_SOFTMAX_STATS, type Offset } from '../kernels/kernels.js';
import { keyValueFloats, roundUp } from '../kernels/sizes.js';
import type { Qwen3Config } from '../policy-api.js';
import type { Arena } from './arena.js';

/** Tokens computed together: small enough for the caches of the processor, large enough to fill the matrix kernels. */
export const PACK_TOKENS = 256;
/** Most floats of one block of logits. */
const LOGIT_FLOATS = 1 << 21;

/** What a layer keeps for its backward; rows × the width in brackets (D hidden, Q heads · headDim, K kvHeads · headDim, I mlp). */
export interface LayerActivations {
  /** Input [D]. */
  x: Offset;
  /** Normed input [D]. */
  normed: Offset;
  /** q before norm and rotation [Q]. */
  qRaw: Offset;
  /** k before norm and rotation, then v [2K]. */
  kv: Offset;
  /** q, k after norm and rotation [Q], [K]. */
  q: Offset;
  k: Offset;
  /** Attention output [Q]. */
  attended: Offset;
  /** Input of the mlp half [D] and its norm [D]. */
  middle: Offset;
  middleNormed: Offset;
  /** [2I], [I]. */
  gateUp: Offset;
  act: Offset;
}

export interface GradientBuffers {
  x: Offset;
  xOther: Offset;
  normed: Offset;
  selected: Offset;
  attended: Offset;
  q: Offset;
  qRaw: Offset;
  k: Offset;
  kv: Offset;
  act: Offset;
}

export interface HeadBuffers {
  /** Rows of one block of logits. */
  rows: number;
  /** Row stride of logits and exps: vocabulary rounded up to 8. */
  ld: number;
  x: Offset;
  normed: Offset;
  logits: Offset;
  exps: Offset;
  stats: Offset;
  index: Offset;
  targets: Offset;
  coefficients: Offset;
  dx: Offset;
  dNormed: Offset;
}

export interface Workspace {
  /** Most tokens of a pack. */
  rows: number;
  tokens: Offset;
  positions: Offset;
  /** Rows the last layer answers for, their positions, their normed inputs. */
  selected: Offset;
  selectedPositions: Offset;
  selectedNormed: Offset;
  layers: LayerActivations[];
  /** Output of the last layer [D]. */
  output: Offset;
  gradients: GradientBuffers;
  head: HeadBuffers;
  /** Keys and values of one sequence and layer while training. */
  cache: Offset;
  cacheCapacity: number;
}

function planLayer(config: Qwen3Config, rows: number, arena: Arena): LayerActivations {
  const { hiddenSize: d, intermediateSize: i } = config;
  const q = config.heads * config.headDim;
  const k = config.kvHeads * config.headDim;
  const take = (width: number): Offset => arena.take(rows * width);
  return {
    x: take(d),
    normed: take(d),
    qRaw: take(q),
    kv: take(2 * k),
    q: take(q),
    k: take(k),
    attended: take(q),
    middle: take(d),
    middleNormed: take(d),
    gateUp: take(2 * i),
    act: take(i),
  };
}

function planGradients(config: Qwen3Config, rows: number, arena: Arena): GradientBuffers {
  const { hiddenSize: d } = config;
  const q = config.heads * config.headDim;
  const k = config.kvHeads * config.headDim;
  const take = (width: number): Offset => arena.take(rows * width);
  return {
    x: take(d),
    xOther: take(d),
    normed: take(d),
    selected: take(d),
    attended: take(q),
    q: take(q),
    qRaw: take(q),
    k: take(k),
    kv: take(2 * k),
    act: take(config.intermediateSize),
  };
}

function planHead(config: Qwen3Config, arena: Arena): HeadBuffers {
  const ld = roundUp(config.vocabSize, 8);
  const rows = Math.max(4, Math.min(64, Math.floor(LOGIT_FLOATS / ld)));
  const take = (width: number): Offset => arena.take(rows * width);
  return {
    rows,
    ld,
    x: take(config.hiddenSize),
    normed: take(config.hiddenSize),
    logits: take(ld),
    exps: take(ld),
    stats: take(LOG_SOFTMAX_STATS),
    index: take(1),
    targets: take(1),
    coefficients: take(1),
    dx: take(config.hiddenSize),
    dNormed: take(config.hiddenSize),
  };
}

/** Reserves all buffers of forward and backward passes. */
export function planWorkspace(
  config: Qwen3Config,
  limits: { maxSequence: number; maxBatch: number },
  arena: Arena
): Workspace {
  const rows = Math.max(PACK_TOKENS, limits.maxSequence, limits.maxBatch);
  const capacity = roundUp(limits.maxSequence, 8);
  const { heads, kvHeads, headDim } = config;
  return {
    rows,
    tokens: arena.take(rows),
    positions: arena.take(rows),
    selected: arena.take(rows),
    selectedPositions: arena.take(rows),
    selectedNormed: arena.take(rows * config.hiddenSize),
    layers: Array.from({ length: config.layers }, () => planLayer(config, rows, arena)),
    output: arena.take(rows * config.hiddenSize),
    gradients: planGradients(config, rows, arena),
    head: planHead(config, arena),
    cache: arena.take(keyValueFloats({ heads, kvHeads, headDim }, capacity)),
    cacheCapacity: capacity,
  };
}
