import { LOG_SOFTMAX_STATS, type Offset } from '../kernels/kernels.js';
import type { Model } from './model.js';

/**
 * Final norm and logits for `count` ≤ `workspace.head.rows` rows of the last layer's output, chosen by `rows`.
 * Logits are in `workspace.head.logits`, row stride `workspace.head.ld`.
 */
export function headForward(model: Model, rows: readonly number[], from: number, count: number): void {
  const { kernels, workspace, config } = model;
  const { head } = workspace;
  for (let i = 0; i < count; i += 1) kernels.ints[head.index + i] = rows[from + i]!;
  kernels.gatherRows(workspace.output, head.index, count, config.hiddenSize, head.x);
  kernels.rmsNormForward(head.x, count, config.hiddenSize, model.finalNorm, config.rmsNormEps, head.normed);
  kernels.linearForward(model.head, head.normed, config.hiddenSize, count, head.logits, head.ld, false);
}

/** Softmax statistics of the logits at a temperature (0 counts as 1), from row `from` on. */
export function headSoftmax(model: Model, from: number, count: number, temperature: number): void {
  const { kernels, workspace, config } = model;
  const { head } = workspace;
  const t = temperature === 0 ? 1 : temperature;
  const shift = from * head.ld;
  const stats = head.stats + from * LOG_SOFTMAX_STATS;
  kernels.logSoftmax(head.logits + shift, head.ld, count, config.vocabSize, t, head.exps + shift, stats);
}

/**
 * log softmax(logits / temperature)[i] = logit / temperature − max − log Σ e, each step rounded to float32. The only place where
 * log-probs are made, so that sampling and training agree to the last bit.
 *
 * @param temperature 0 counts as 1
 */
export function logProbOf(logit: number, temperature: number, largest: number, logSum: number): number {
  const t = temperature === 0 ? 1 : Math.fround(temperature);
  return Math.fround(Math.fround(Math.fround(logit / t) - largest) - logSum);
}

/** Log-prob of a token in a row after `headSoftmax` at the same temperature. */
export function headLogProb({ kernels, workspace }: Model, row: number, token: number, temperature: number): number {
  const { head } = workspace;
  const { heap } = kernels;
  const stats = head.stats + row * LOG_SOFTMAX_STATS;
  return logProbOf(heap[head.logits + row * head.ld + token]!, temperature, heap[stats]!, heap[stats + 1]!);
}

/** Entropy of the softmax of a row after `headSoftmax`. */
export function headEntropy({ kernels, workspace }: Model, row: number): number {
  return kernels.heap[workspace.head.stats + row * LOG_SOFTMAX_STATS + 3]!;
}

/**
 * Backward from one coefficient dL/dlogp(target) a row (in `head.coefficients`, targets in `head.targets`):
 * dlogits = coefficient / temperature · (onehot − p). Adds to the weight gradients of `lane` and to dL/doutput in `gradients.x`.
 */
export function headBackward(model: Model, count: number, temperature: number, lane: number): void {
  const { kernels, workspace, config } = model;
  const { head } = workspace;
  const { hiddenSize: d, rmsNormEps: eps } = config;
  const shift = model.gradients[lane]! - model.parameters.start;
  const dLogits: Offset = head.exps;
  kernels.logSoftmaxBackward(dLogits, head.ld, count, temperature, head.stats, head.targets, head.coefficients);
  kernels.linearBackwardWeight(model.head, dLogits, head.ld, head.normed, d, count, model.head.weight + shift);
  kernels.linearBackwardInput(model.head, dLogits, head.ld, count, head.dNormed, d, false);
  const dNorm = model.finalNorm + shift;
  kernels.rmsNormBackward(head.x, count, d, model.finalNorm, eps, head.dNormed, head.dx, false, dNorm);
  kernels.scatterAddRows(head.dx, head.index, count, d, workspace.gradients.x);
}
