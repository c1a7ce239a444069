import type { Offset } from '../kernels.js';

/** 1 / sqrt(mean(x²) + eps) of one row. */
export function inverseRms(heap: Float32Array, x: Offset, width: number, eps: number): number {
  let sum = 0;
  for (let j = 0; j < width; j += 1) sum += heap[x + j]! ** 2;
  return 1 / Math.sqrt(sum / width + eps);
}

/**
 * RMSNorm: y = x · inv · w, inv = 1 / sqrt(mean(x²) + eps). x, y [rows, width], w [width].
 * Source: Zhang and Sennrich, "Root mean square layer normalization", 2019; eps inside the root as in Qwen3RMSNorm.
 */
export function rmsNormForward(
  heap: Float32Array,
  x: Offset,
  rows: number,
  width: number,
  weight: Offset,
  eps: number,
  y: Offset
): void {
  for (let row = 0; row < rows; row += 1) {
    const at = row * width;
    const inverse = inverseRms(heap, x + at, width, eps);
    for (let j = 0; j < width; j += 1) heap[y + at + j] = heap[x + at + j]! * inverse * heap[weight + j]!;
  }
}

/** With x̂ = x · inv and g = dy · w: dx = inv (g − x̂ · mean(g x̂)), dw += Σ_rows dy x̂. */
export function rmsNormBackward(
  heap: Float32Array,
  x: Offset,
  rows: number,
  width: number,
  weight: Offset,
  eps: number,
  dy: Offset,
  dx: Offset,
  accumulate: boolean,
  dWeight: Offset
): void {
  for (let row = 0; row < rows; row += 1) {
    const at = row * width;
    const inverse = inverseRms(heap, x + at, width, eps);
    let sum = 0;
    for (let j = 0; j < width; j += 1) {
      const part = heap[dy + at + j]! * heap[x + at + j]! * inverse;
      heap[dWeight + j]! += part;
      sum += part * heap[weight + j]!;
    }
    for (let j = 0; j < width; j += 1) {
      const hat = heap[x + at + j]! * inverse;
      const value = inverse * (heap[dy + at + j]! * heap[weight + j]! - (hat * sum) / width);
      heap[dx + at + j] = accumulate ? heap[dx + at + j]! + value : value;
    }
  }
}
