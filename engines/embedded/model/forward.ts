import type { Offset } from '../kernels/kernels.js';
import { keyValueFloats } from '../kernels/sizes.js';
import type { Pack } from './batch.js';
import type { LayerWeights, Model } from './model.js';
import type { LayerActivations } from './workspace.js';

/**
 * Qwen3's layers over a pack of sequences. Per layer: h = x + Wo · attention(norm(x)); x' = h + Wdown · swiglu(Wgate/up · norm(h)).
 * Afterwards the workspace's `output` holds the last layer's result for the selected rows, and every layer's activations are kept
 * for the backward. Source: Qwen3ForCausalLM of Hugging Face transformers.
 */
export function forward(model: Model, pack: Pack): void {
  const { kernels, workspace, config } = model;
  kernels.gatherRows(model.embedding, workspace.tokens, pack.rows, config.hiddenSize, workspace.layers[0]!.x);
  for (let layer = 0; layer < config.layers; layer += 1) {
    const next = workspace.layers[layer + 1]?.x ?? workspace.output;
    attentionHalf(model, pack, layer);
    mlpHalf(model, layer, layerRows(model, pack, layer), next);
  }
}

/** Rows whose output the layer computes: all, in the last layer the selected ones. */
export function layerRows({ config }: Model, pack: Pack, layer: number): number {
  return layer === config.layers - 1 ? pack.selected : pack.rows;
}

/** True when the layer computes queries for fewer rows than keys. */
export function isNarrowed(model: Model, pack: Pack, layer: number): boolean {
  return layerRows(model, pack, layer) < pack.rows;
}

function attentionHalf(model: Model, pack: Pack, layer: number): void {
  const { kernels, workspace, config, rope } = model;
  const { hiddenSize: d, heads, kvHeads, headDim, rmsNormEps: eps } = config;
  const w = model.layers[layer]!;
  const a = workspace.layers[layer]!;
  const [q, kv] = [heads * headDim, kvHeads * headDim];
  kernels.rmsNormForward(a.x, pack.rows, d, w.inputNorm, eps, a.normed);
  kernels.linearForward(w.kv, a.normed, d, pack.rows, a.kv, 2 * kv, false);
  const keyHeads = { heads: kvHeads, headDim };
  kernels.normRopeForward(a.kv, 2 * kv, pack.rows, keyHeads, w.kNorm, eps, workspace.positions, rope, a.k, kv);
  const rows = layerRows(model, pack, layer);
  const narrowed = rows < pack.rows;
  const normed = narrowed ? workspace.selectedNormed : a.normed;
  const positions = narrowed ? workspace.selectedPositions : workspace.positions;
  if (narrowed) {
    kernels.gatherRows(a.normed, workspace.selected, rows, d, normed);
    kernels.gatherRows(a.x, workspace.selected, rows, d, a.middle);
  } else {
    kernels.heap.copyWithin(a.middle, a.x, a.x + rows * d);
  }
  kernels.linearForward(w.q, normed, d, rows, a.qRaw, q, false);
  kernels.normRopeForward(a.qRaw, q, rows, { heads, headDim }, w.qNorm, eps, positions, rope, a.q, q);
  attendSegments(model, pack, layer, a);
  kernels.linearForward(w.o, a.attended, q, rows, a.middle, d, true);
}

/** Attention never leaves a sequence: each segment sees its own cache only. */
function attendSegments(model: Model, pack: Pack, layer: number, a: LayerActivations): void {
  const { kernels, workspace, attention } = model;
  const { heads, kvHeads, headDim } = attention;
  const [q, kv] = [heads * headDim, kvHeads * headDim];
  const capacity = workspace.cacheCapacity;
  const last = layer === model.config.layers - 1;
  let row = 0;
  let query = 0;
  for (const { start, end, queries, cache } of pack.segments) {
    const at: Offset = cache === undefined ? workspace.cache : cache + layer * keyValueFloats(attention, capacity);
    const count = end - start;
    const k = a.k + row * kv;
    const v = a.kv + row * 2 * kv + kv;
    kernels.appendKeyValue(attention, k, kv, v, 2 * kv, count, start, at, capacity);
    const answered = last ? queries : count;
    const from = (last ? query : row) * q;
    if (answered > 0)
      kernels.attend(attention, a.q + from, q, answered, end - answered, at, capacity, a.attended + from, q);
    row += count;
    query += queries;
  }
}

function mlpHalf(model: Model, layer: number, rows: number, out: Offset): void {
  const { kernels, workspace, config } = model;
  const { hiddenSize: d, intermediateSize: i } = config;
  const w: LayerWeights = model.layers[layer]!;
  const a = workspace.layers[layer]!;
  kernels.rmsNormForward(a.middle, rows, d, w.postNorm, config.rmsNormEps, a.middleNormed);
  kernels.linearForward(w.gateUp, a.middleNormed, d, rows, a.gateUp, 2 * i, false);
  kernels.swigluForward(a.gateUp, rows, i, a.act);
  kernels.heap.copyWithin(out, a.middle, a.middle + rows * d);
  kernels.linearForward(w.down, a.act, i, rows, out, d, true);
}
