import type { Offset } from '../kernels/kernels.js';
import type { Pack } from './batch.js';
import { isNarrowed, layerRows } from './forward.js';
import type { Model } from './model.js';

/**
 * Backward of `forward` for the same pack, with the activations still in the workspace. On entry the workspace's `gradients.x`
 * holds dL/doutput of the selected rows; gradients of the weights are added to lane `lane`.
 */
export function backward(model: Model, pack: Pack, lane: number): void {
  const { kernels, workspace, config } = model;
  const shift = model.gradients[lane]! - model.parameters.start;
  let dx = workspace.gradients.x;
  let other = workspace.gradients.xOther;
  for (let layer = config.layers - 1; layer >= 0; layer -= 1) {
    mlpBackward(model, layer, layerRows(model, pack, layer), dx, shift);
    attentionBackward(model, pack, layer, dx, shift);
    if (isNarrowed(model, pack, layer)) {
      kernels.heap.fill(0, other, other + pack.rows * config.hiddenSize);
      kernels.scatterAddRows(dx, workspace.selected, pack.selected, config.hiddenSize, other);
      [dx, other] = [other, dx];
    }
    inputNormBackward(model, pack, layer, dx, shift);
  }
  kernels.scatterAddRows(dx, workspace.tokens, pack.rows, config.hiddenSize, model.embedding + shift);
}

/** dx: gradient of the layer's output; becomes the gradient of the mlp half's input. */
function mlpBackward(model: Model, layer: number, rows: number, dx: Offset, shift: number): void {
  const { kernels, workspace, config } = model;
  const { hiddenSize: d, intermediateSize: i, rmsNormEps: eps } = config;
  const w = model.layers[layer]!;
  const a = workspace.layers[layer]!;
  const g = workspace.gradients;
  kernels.linearBackwardWeight(w.down, dx, d, a.act, i, rows, w.down.weight + shift);
  kernels.linearBackwardInput(w.down, dx, d, rows, g.act, i, false);
  kernels.swigluBackward(a.gateUp, rows, i, g.act);
  kernels.linearBackwardWeight(w.gateUp, a.gateUp, 2 * i, a.middleNormed, d, rows, w.gateUp.weight + shift);
  kernels.linearBackwardInput(w.gateUp, a.gateUp, 2 * i, rows, g.normed, d, false);
  kernels.rmsNormBackward(a.middle, rows, d, w.postNorm, eps, g.normed, dx, true, w.postNorm + shift);
}

/** Leaves the gradient of the normed input in `gradients.normed`, for all rows. */
function attentionBackward(model: Model, pack: Pack, layer: number, dx: Offset, shift: number): void {
  const { kernels, workspace, config, rope } = model;
  const { hiddenSize: d, heads, kvHeads, headDim, rmsNormEps: eps } = config;
  const [q, kv] = [heads * headDim, kvHeads * headDim];
  const w = model.layers[layer]!;
  const a = workspace.layers[layer]!;
  const g = workspace.gradients;
  const rows = layerRows(model, pack, layer);
  const narrowed = rows < pack.rows;
  const normed = narrowed ? workspace.selectedNormed : a.normed;
  const positions = narrowed ? workspace.selectedPositions : workspace.positions;
  kernels.linearBackwardWeight(w.o, dx, d, a.attended, q, rows, w.o.weight + shift);
  kernels.linearBackwardInput(w.o, dx, d, rows, g.attended, q, false);
  segmentsBackward(model, pack, layer);
  const queryHeads = { heads, headDim };
  const keyHeads = { heads: kvHeads, headDim };
  const [qNorm, kNorm] = [w.qNorm + shift, w.kNorm + shift];
  kernels.normRopeBackward(a.qRaw, q, rows, queryHeads, w.qNorm, eps, positions, rope, g.q, q, g.qRaw, q, qNorm);
  const all = workspace.positions;
  kernels.normRopeBackward(a.kv, 2 * kv, pack.rows, keyHeads, w.kNorm, eps, all, rope, g.k, kv, g.kv, 2 * kv, kNorm);
  kernels.linearBackwardWeight(w.q, g.qRaw, q, normed, d, rows, w.q.weight + shift);
  kernels.linearBackwardWeight(w.kv, g.kv, 2 * kv, a.normed, d, pack.rows, w.kv.weight + shift);
  kernels.linearBackwardInput(w.kv, g.kv, 2 * kv, pack.rows, g.normed, d, false);
  if (narrowed) {
    kernels.linearBackwardInput(w.q, g.qRaw, q, rows, g.selected, d, false);
    kernels.scatterAddRows(g.selected, workspace.selected, rows, d, g.normed);
  } else {
    kernels.linearBackwardInput(w.q, g.qRaw, q, rows, g.normed, d, true);
  }
}

function segmentsBackward(model: Model, pack: Pack, layer: number): void {
  const { kernels, workspace, attention } = model;
  const q = attention.heads * attention.headDim;
  const kv = attention.kvHeads * attention.headDim;
  const a = workspace.layers[layer]!;
  const g = workspace.gradients;
  const last = layer === model.config.layers - 1;
  let row = 0;
  let query = 0;
  for (const { start, end, queries } of pack.segments) {
    const length = end - start;
    const from = (last ? query : row) * q;
    kernels.attentionBackward(attention, {
      q: a.q + from,
      ldq: q,
      k: a.k + row * kv,
      ldk: kv,
      v: a.kv + row * 2 * kv + kv,
      ldv: 2 * kv,
      dOut: g.attended + from,
      ldOut: q,
      dq: g.q + from,
      dk: g.k + row * kv,
      dv: g.kv + row * 2 * kv + kv,
      length,
      count: last ? queries : length,
    });
    row += length;
    query += queries;
  }
}

function inputNormBackward(model: Model, pack: Pack, layer: number, dx: Offset, shift: number): void {
  const { kernels, workspace, config } = model;
  const w = model.layers[layer]!;
  const x = workspace.layers[layer]!.x;
  const dNormed = workspace.gradients.normed;
  const gradient = w.inputNorm + shift;
  kernels.rmsNormBackward(x, pack.rows, config.hiddenSize, w.inputNorm, config.rmsNormEps, dNormed, dx, true, gradient);
}
