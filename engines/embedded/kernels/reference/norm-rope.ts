import type { Heads, Offset, RopeTable } from '../kernels.js';
import { rmsNormBackward, rmsNormForward } from './rms-norm.js';

/** (x1, x2) → (x1 cos − x2 sin, x2 cos + x1 sin) with x1, x2 the halves of one head; sign −1 turns back. */
function rotate(heap: Float32Array, x: Offset, half: number, table: number, rope: RopeTable, sign: 1 | -1): void {
  for (let j = 0; j < half; j += 1) {
    const cos = heap[rope.cos + table + j]!;
    const sin = sign * heap[rope.sin + table + j]!;
    const first = heap[x + j]!;
    const second = heap[x + half + j]!;
    heap[x + j] = first * cos - second * sin;
    heap[x + half + j] = second * cos + first * sin;
  }
}

/**
 * Query and key path of Qwen3: RMSNorm over each head, then rotary position embedding by halves.
 * x [rows, ldx], y [rows, ldy], heads side by side. Source: Su et al. 2021 (RoPE); order and halves as Qwen3Attention.
 */
export function normRopeForward(
  heap: Float32Array,
  ints: Int32Array,
  x: Offset,
  ldx: number,
  rows: number,
  { heads, headDim }: Heads,
  weight: Offset,
  eps: number,
  positions: Offset,
  rope: RopeTable,
  y: Offset,
  ldy: number
): void {
  const half = headDim / 2;
  for (let row = 0; row < rows; row += 1) {
    const table = ints[positions + row]! * half;
    for (let head = 0; head < heads; head += 1) {
      const to = y + row * ldy + head * headDim;
      rmsNormForward(heap, x + row * ldx + head * headDim, 1, headDim, weight, eps, to);
      rotate(heap, to, half, table, rope, 1);
    }
  }
}

/** The rotation's transpose turns dy back (in place), then the norm's backward gives dx. */
export function normRopeBackward(
  heap: Float32Array,
  ints: Int32Array,
  x: Offset,
  ldx: number,
  rows: number,
  { heads, headDim }: Heads,
  weight: Offset,
  eps: number,
  positions: Offset,
  rope: RopeTable,
  dy: Offset,
  lddy: number,
  dx: Offset,
  lddx: number,
  dWeight: Offset
): void {
  const half = headDim / 2;
  for (let row = 0; row < rows; row += 1) {
    const table = ints[positions + row]! * half;
    for (let head = 0; head < heads; head += 1) {
      const from = dy + row * lddy + head * headDim;
      rotate(heap, from, half, table, rope, -1);
      const source = x + row * ldx + head * headDim;
      const to = dx + row * lddx + head * headDim;
      rmsNormBackward(heap, source, 1, headDim, weight, eps, from, to, false, dWeight);
    }
  }
}
