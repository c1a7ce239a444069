import type { Linear, Offset } from '../kernels.js';

/**
 * Linear layer without bias: Y = X Wᵀ, dX = dY W, dW = dYᵀ X. W [outputs, inputs] as in Hugging Face files,
 * X [rows, inputs], Y [rows, outputs]. Sums run over the inner index in rising order, rounded to float32 after every term.
 */
export function linearForward(
  heap: Float32Array,
  { weight, inputs, outputs }: Linear,
  x: Offset,
  ldx: number,
  rows: number,
  y: Offset,
  ldy: number,
  accumulate: boolean
): void {
  for (let row = 0; row < rows; row += 1) {
    for (let out = 0; out < outputs; out += 1) {
      let sum = 0;
      for (let k = 0; k < inputs; k += 1)
        sum = Math.fround(sum + Math.fround(heap[x + row * ldx + k]! * heap[weight + out * inputs + k]!));
      const at = y + row * ldy + out;
      heap[at] = accumulate ? heap[at]! + sum : sum;
    }
  }
}

export function linearBackwardInput(
  heap: Float32Array,
  { weight, inputs, outputs }: Linear,
  dy: Offset,
  ldy: number,
  rows: number,
  dx: Offset,
  ldx: number,
  accumulate: boolean
): void {
  for (let row = 0; row < rows; row += 1) {
    for (let k = 0; k < inputs; k += 1) {
      let sum = 0;
      for (let out = 0; out < outputs; out += 1)
        sum = Math.fround(sum + Math.fround(heap[dy + row * ldy + out]! * heap[weight + out * inputs + k]!));
      const at = dx + row * ldx + k;
      heap[at] = accumulate ? heap[at]! + sum : sum;
    }
  }
}

export function linearBackwardWeight(
  heap: Float32Array,
  { inputs, outputs }: Linear,
  dy: Offset,
  ldy: number,
  x: Offset,
  ldx: number,
  rows: number,
  gradient: Offset
): void {
  for (let out = 0; out < outputs; out += 1) {
    for (let k = 0; k < inputs; k += 1) {
      let sum = 0;
      for (let row = 0; row < rows; row += 1)
        sum = Math.fround(sum + Math.fround(heap[dy + row * ldy + out]! * heap[x + row * ldx + k]!));
      heap[gradient + out * inputs + k]! += sum;
    }
  }
}
