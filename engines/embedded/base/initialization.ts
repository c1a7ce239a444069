import { PhiloxStream } from '../../../shared/random/philox.js';
import { parameterShapes } from '../model/parameters.js';
import type { NamedTensor, Qwen3Config } from '../policy-api.js';

/** Stream numbers of the generator: one for each use of randomness. */
const WEIGHTS_STREAM = [1, 0, 0] as const;
const BASIS_STREAM = [2, 0, 0] as const;

const EMBEDDING_STD = 0.1;
const LINEAR_STD = 0.02;
/** Projections that write into the residual stream: 0.02 / √(2 · layers) with two layers. */
const OUTPUT_STD = 0.01;
/** Value of column 0 of the embedding: a constant part in every token, from which a query and key can be made that only depend on position. */
const CONSTANT = 0.1;
const NORM_GAIN = 1.5;
/** Fastest rotary pairs, which tell neighbouring positions apart. */
const FAST_PAIRS = 3;
/** Rotary pairs with a frequency below this hardly turn within a prompt: they can carry content. */
const SLOW_FREQUENCY = 0.03;

/** A matrix of the model, row-major [out, in], by its short name. */
class Weights {
  private readonly tensors: Map<string, NamedTensor>;

  constructor(readonly list: NamedTensor[]) {
    this.tensors = new Map(list.map((tensor) => [tensor.name, tensor]));
  }

  named(name: string): NamedTensor {
    const tensor = this.tensors.get(name);
    if (tensor === undefined) throw new RangeError(`no tensor ${name}`);
    return tensor;
  }

  attention(layer: number, part: string): NamedTensor {
    return this.named(`model.layers.${layer}.self_attn.${part}.weight`);
  }
}

/**
 * Weights of a model whose first head of layer 0 looks at the previous token and whose first head of layer 1 finds the place
 * where the current token stood before: an induction head, there from the start. Everything else is random and small. Plain random
 * weights do not learn to bind a value to its key within the tokens spent here; copying out, gating, format and "unknown" are
 * learned in any case.
 *
 * @param config two layers, hidden size ≥ 2 · 18 + 1
 * @param seed equal seeds give equal weights
 */
export function inductionInit(config: Qwen3Config, seed: number): NamedTensor[] {
  const weights = new Weights(randomWeights(config, seed));
  const embedding = weights.named('model.embed_tokens.weight').data;
  for (let token = 0; token < config.vocabSize; token += 1) embedding[token * config.hiddenSize] = CONSTANT;
  for (let layer = 0; layer < config.layers; layer += 1) {
    for (const part of ['q_proj', 'k_proj']) clearColumn(weights.attention(layer, part).data, config.hiddenSize, 0);
  }
  for (const layer of [0, 1])
    for (const part of ['q_norm', 'k_norm']) weights.attention(layer, part).data.fill(NORM_GAIN);
  previousTokenHead(weights, config);
  const slow = slowDimensions(config);
  const [write, read] = orthonormalRows(config.hiddenSize, slow.length, seed);
  carryPreviousToken(weights, config, write, read);
  matchingHead(weights, config, slow, write, read);
  return weights.list;
}

function randomWeights(config: Qwen3Config, seed: number): NamedTensor[] {
  const random = new PhiloxStream(seed, WEIGHTS_STREAM);
  return parameterShapes(config).map(({ name, shape }) => {
    const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
    if (shape.length === 1) return { name, shape, data: data.fill(1) };
    const isOutput = name.includes('o_proj') || name.includes('down_proj');
    const std = name.includes('embed_tokens') ? EMBEDDING_STD : isOutput ? OUTPUT_STD : LINEAR_STD;
    for (let i = 0; i < data.length; i += 1) data[i] = std * random.nextNormal();
    return { name, shape, data };
  });
}

function clearColumn(matrix: Float32Array, width: number, column: number): void {
  for (let at = column; at < matrix.length; at += width) matrix[at] = 0;
}

function scaleRows(matrix: Float32Array, width: number, rows: number, factor: number): void {
  for (let i = 0; i < rows * width; i += 1) matrix[i]! *= factor;
}

/** Rotary frequencies f_d = theta^(−2d / head_dim), radians a position. */
function frequencies({ headDim, ropeTheta }: Qwen3Config): number[] {
  return Array.from({ length: headDim / 2 }, (_, pair) => ropeTheta ** ((-2 * pair) / headDim));
}

/**
 * Layer 0, head 0: key (3, 0) and query 3 (cos f, −sin f) in the fastest pairs. Rotated by their positions, their product is
 * largest where the key stands one place before the query.
 */
function previousTokenHead(weights: Weights, config: Qwen3Config): void {
  const { hiddenSize, headDim } = config;
  const q = weights.attention(0, 'q_proj').data;
  const k = weights.attention(0, 'k_proj').data;
  scaleRows(q, hiddenSize, headDim, 0.25);
  scaleRows(k, hiddenSize, headDim, 0.25);
  frequencies(config)
    .slice(0, FAST_PAIRS)
    .forEach((f, pair) => {
      const [first, second] = [pair * hiddenSize, (pair + headDim / 2) * hiddenSize];
      k[first] = 3;
      k[second] = 0;
      q[first] = 3 * Math.cos(f);
      q[second] = -3 * Math.sin(f);
    });
}

function slowDimensions(config: Qwen3Config): number[] {
  const pairs = frequencies(config).flatMap((f, pair) => (f < SLOW_FREQUENCY ? [pair] : []));
  return [...pairs, ...pairs.map((pair) => pair + config.headDim / 2)];
}

/** Two sets of `count` orthonormal rows of the hidden space, column 0 zero (Gram–Schmidt on normal draws, twice for precision). */
function orthonormalRows(width: number, count: number, seed: number): [Float64Array[], Float64Array[]] {
  if (2 * count > width - 1) throw new RangeError(`${2 * count} orthonormal rows do not fit a hidden size of ${width}`);
  const random = new PhiloxStream(seed, BASIS_STREAM);
  const rows: Float64Array[] = [];
  for (let row = 0; row < 2 * count; row += 1) {
    const next = Float64Array.from({ length: width }, (_, column) => (column === 0 ? 0 : random.nextNormal()));
    for (let pass = 0; pass < 2; pass += 1) for (const other of rows) subtractProjection(next, other);
    const norm = Math.sqrt(dot(next, next));
    rows.push(next.map((value) => value / norm));
  }
  return [rows.slice(0, count), rows.slice(count)];
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, i) => sum + value * b[i]!, 0);
}

function subtractProjection(row: Float64Array, unit: Float64Array): void {
  const along = dot(row, unit);
  for (let i = 0; i < row.length; i += 1) row[i]! -= along * unit[i]!;
}

/** Layer 0, head 0 reads the previous token through `write` and puts it into the residual stream through 0.2 · `read`ᵀ. */
function carryPreviousToken(
  weights: Weights,
  config: Qwen3Config,
  write: readonly Float64Array[],
  read: readonly Float64Array[]
): void {
  const { hiddenSize, headDim, heads } = config;
  const v = weights.attention(0, 'v_proj').data;
  const o = weights.attention(0, 'o_proj').data;
  v.fill(0, 0, headDim * hiddenSize);
  write.forEach((row, j) => v.set(row, j * hiddenSize));
  for (let out = 0; out < hiddenSize; out += 1) {
    const from = out * heads * headDim;
    o.fill(0, from, from + headDim);
    read.forEach((row, j) => (o[from + j] = 0.2 * row[out]!));
  }
}

/** Layer 1, head 0: the current token (through `write`) meets the token that stood before another one (through `read`). */
function matchingHead(
  weights: Weights,
  config: Qwen3Config,
  dimensions: readonly number[],
  write: readonly Float64Array[],
  read: readonly Float64Array[]
): void {
  const { hiddenSize, headDim } = config;
  const parts = [
    { matrix: weights.attention(1, 'q_proj').data, rows: write },
    { matrix: weights.attention(1, 'k_proj').data, rows: read },
  ];
  for (const { matrix, rows } of parts) {
    scaleRows(matrix, hiddenSize, headDim, 0.1);
    dimensions.forEach((dimension, j) => {
      for (let i = 0; i < hiddenSize; i += 1) matrix[dimension * hiddenSize + i]! += rows[j]![i]!;
    });
  }
}
