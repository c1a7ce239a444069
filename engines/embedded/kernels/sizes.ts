import type { AttentionShape } from './kernels.js';

/** `value` rounded up to a multiple. */
export const roundUp = (value: number, multiple: number): number => Math.ceil(value / multiple) * multiple;

/** Floats of one panel copy of a [outputs, inputs] matrix. */
export function linearPanelFloats(outputs: number, inputs: number): number {
  return roundUp(outputs, 8) * roundUp(inputs, 8);
}

/** Floats of one layer's key/value cache of one sequence; capacity is a multiple of 8. */
export function keyValueFloats(shape: AttentionShape, capacity: number): number {
  return shape.kvHeads * capacity * (shape.headDim + roundUp(shape.headDim, 8));
}

export interface ScratchLimits {
  /** Most rows in one matrix product. */
  rows: number;
  /** Widest input of a linear layer. */
  widestInput: number;
  /** Longest sequence, tokens. */
  sequence: number;
  headDim: number;
}

/** Floats of working memory a kernel call may use. */
export function scratchFloats(limits: ScratchLimits): number {
  const attention = (2 * limits.headDim + 64) * roundUp(limits.sequence, 8);
  return Math.max(attention, limits.rows * roundUp(limits.widestInput, 8)) + 64;
}
