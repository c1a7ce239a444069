import { LOG_SOFTMAX_STATS, type Offset } from '../kernels.js';

/**
 * log p = x − max x − log Σ e, x = logits / temperature, e = exp(x − max x). Writes e (0 beyond vocab) and per row
 * [max x, log Σ e, 1 / Σ e, entropy = log Σ e − Σ e (x − max x) / Σ e].
 */
export function logSoftmax(
  heap: Float32Array,
  logits: Offset,
  ld: number,
  rows: number,
  vocab: number,
  temperature: number,
  exps: Offset,
  stats: Offset
): void {
  const t = Math.fround(temperature);
  for (let row = 0; row < rows; row += 1) {
    const from = logits + row * ld;
    const to = exps + row * ld;
    let top = -Infinity;
    for (let j = 0; j < vocab; j += 1) top = Math.max(top, heap[from + j]!);
    top = Math.fround(top / t);
    let total = 0;
    let weighted = 0;
    for (let j = 0; j < ld; j += 1) {
      const d = j < vocab ? Math.fround(Math.fround(heap[from + j]! / t) - top) : -Infinity;
      heap[to + j] = Math.exp(d);
      total += heap[to + j]!;
      if (heap[to + j] !== 0) weighted += heap[to + j]! * d;
    }
    const logTotal = Math.log(total);
    heap.set([top, logTotal, 1 / total, logTotal - weighted / total], stats + row * LOG_SOFTMAX_STATS);
  }
}

/** With c = dL/dlogp(target) of the row: dL/dlogits[j] = c / temperature · ([j = target] − p[j]); overwrites e. */
export function logSoftmaxBackward(
  heap: Float32Array,
  ints: Int32Array,
  exps: Offset,
  ld: number,
  rows: number,
  temperature: number,
  stats: Offset,
  targets: Offset,
  coefficients: Offset
): void {
  for (let row = 0; row < rows; row += 1) {
    const c = heap[coefficients + row]! / temperature;
    const inverse = heap[stats + row * LOG_SOFTMAX_STATS + 2]!;
    for (let j = 0; j < ld; j += 1) heap[exps + row * ld + j]! *= -c * inverse;
    heap[exps + row * ld + ints[targets + row]!]! += c;
  }
}
