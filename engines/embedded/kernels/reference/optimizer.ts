import type { AdamwArguments, Offset } from '../kernels.js';

/** Σ x². */
export function squareSum(heap: Float32Array, x: Offset, length: number): number {
  let sum = 0;
  for (let i = 0; i < length; i += 1) sum += heap[x + i]! ** 2;
  return sum;
}

/** target += source. */
export function addInto(heap: Float32Array, target: Offset, source: Offset, length: number): void {
  for (let i = 0; i < length; i += 1) heap[target + i]! += heap[source + i]!;
}

/**
 * AdamW with decoupled weight decay: g = clip · gradient; m = β₁ m + (1 − β₁) g; v = β₂ v + (1 − β₂) g²;
 * p −= lr · (m / (1 − β₁ᵗ)) / (sqrt(v / (1 − β₂ᵗ)) + eps) + lr · decay · p.
 * Source: Loshchilov and Hutter, "Decoupled weight decay regularization", 2019.
 */
export function adamw(heap: Float32Array, a: AdamwArguments): void {
  const correction1 = 1 - a.beta1 ** a.step;
  const correction2 = 1 - a.beta2 ** a.step;
  for (let i = 0; i < a.length; i += 1) {
    const g = a.clip * heap[a.gradient + i]!;
    const m = a.beta1 * heap[a.first + i]! + (1 - a.beta1) * g;
    const v = a.beta2 * heap[a.second + i]! + (1 - a.beta2) * g * g;
    heap[a.first + i] = m;
    heap[a.second + i] = v;
    const p = heap[a.parameter + i]!;
    const step = (a.learningRate * (m / correction1)) / (Math.sqrt(v / correction2) + a.epsilon);
    heap[a.parameter + i] = p - step - a.learningRate * a.weightDecay * p;
  }
}
