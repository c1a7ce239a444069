import type { Offset } from '../kernels.js';

/**
 * SwiGLU: act = silu(gate) · up, silu(g) = g · s, s = 1 / (1 + exp(−g)). gateUp [rows, 2 width]: gates, then ups; act [rows, width].
 * Source: Shazeer, "GLU variants improve transformer", 2020.
 */
export function swigluForward(heap: Float32Array, gateUp: Offset, rows: number, width: number, act: Offset): void {
  for (let row = 0; row < rows; row += 1) {
    for (let j = 0; j < width; j += 1) {
      const gate = heap[gateUp + row * 2 * width + j]!;
      const up = heap[gateUp + row * 2 * width + width + j]!;
      heap[act + row * width + j] = (gate / (1 + Math.exp(-gate))) * up;
    }
  }
}

/** dgate = dact · up · s (1 + g (1 − s)), dup = dact · g s; overwrites gateUp. */
export function swigluBackward(heap: Float32Array, gateUp: Offset, rows: number, width: number, dAct: Offset): void {
  for (let row = 0; row < rows; row += 1) {
    for (let j = 0; j < width; j += 1) {
      const at = gateUp + row * 2 * width + j;
      const gate = heap[at]!;
      const up = heap[at + width]!;
      const d = heap[dAct + row * width + j]!;
      const s = 1 / (1 + Math.exp(-gate));
      heap[at] = d * up * s * (1 + gate * (1 - s));
      heap[at + width] = d * gate * s;
    }
  }
}
