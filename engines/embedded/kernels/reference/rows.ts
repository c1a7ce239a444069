import type { Offset } from '../kernels.js';

/** Embedding look-up and choice of rows: target[i] = source[index[i]], rows of `width` floats. */
export function gatherRows(
  heap: Float32Array,
  ints: Int32Array,
  source: Offset,
  index: Offset,
  rows: number,
  width: number,
  target: Offset
): void {
  for (let i = 0; i < rows; i += 1) {
    const from = source + ints[index + i]! * width;
    heap.copyWithin(target + i * width, from, from + width);
  }
}

/** Backward of the look-up: target[index[i]] += source[i]. */
export function scatterAddRows(
  heap: Float32Array,
  ints: Int32Array,
  source: Offset,
  index: Offset,
  rows: number,
  width: number,
  target: Offset
): void {
  for (let i = 0; i < rows; i += 1) {
    const to = target + ints[index + i]! * width;
    for (let j = 0; j < width; j += 1) heap[to + j]! += heap[source + i * width + j]!;
  }
}
