import type { AttentionBackwardArguments, AttentionShape, Offset } from '../kernels.js';

/**
 * Grouped-query causal attention: out[i, h] = Σ_j P[i, j] v[j, g], P[i, ·] = softmax over j ≤ i of q[i, h] · k[j, g] / sqrt(headDim),
 * g = floor(h / (heads / kvHeads)). Keys and values come from a cache of `capacity` positions; here per key/value head
 * K [capacity, headDim], then V [capacity, headDim].
 * Sources: Vaswani et al. 2017; Ainslie et al. 2023 (grouped queries); scale from head_dim as Qwen3Attention.
 */
export function appendKeyValue(
  heap: Float32Array,
  { kvHeads, headDim }: AttentionShape,
  k: Offset,
  ldk: number,
  v: Offset,
  ldv: number,
  count: number,
  position: number,
  cache: Offset,
  capacity: number
): void {
  for (let head = 0; head < kvHeads; head += 1) {
    const keys = cache + 2 * head * capacity * headDim;
    const values = keys + capacity * headDim;
    for (let i = 0; i < count; i += 1) {
      const to = (position + i) * headDim;
      const key = k + i * ldk + head * headDim;
      const value = v + i * ldv + head * headDim;
      heap.copyWithin(keys + to, key, key + headDim);
      heap.copyWithin(values + to, value, value + headDim);
    }
  }
}

export function copyKeyValue(
  heap: Float32Array,
  { kvHeads, headDim }: AttentionShape,
  from: Offset,
  to: Offset,
  count: number,
  capacity: number
): void {
  for (let block = 0; block < 2 * kvHeads; block += 1) {
    const at = block * capacity * headDim;
    heap.copyWithin(to + at, from + at, from + at + count * headDim);
  }
}

/** Softmax of q · k_j / sqrt(headDim), j < keys, with the maximum subtracted. */
function probabilities(heap: Float32Array, q: Offset, k: Offset, ldk: number, keys: number, headDim: number): number[] {
  const scores: number[] = [];
  for (let j = 0; j < keys; j += 1) {
    let sum = 0;
    for (let d = 0; d < headDim; d += 1) sum += heap[q + d]! * heap[k + j * ldk + d]!;
    scores.push(sum / Math.sqrt(headDim));
  }
  let top = -Infinity;
  for (const score of scores) top = Math.max(top, score);
  const exps = scores.map((score) => Math.exp(score - top));
  let total = 0;
  for (const value of exps) total += value;
  return exps.map((value) => value / total);
}

export function attend(
  heap: Float32Array,
  { heads, kvHeads, headDim }: AttentionShape,
  q: Offset,
  ldq: number,
  count: number,
  position: number,
  cache: Offset,
  capacity: number,
  out: Offset,
  ldOut: number
): void {
  for (let head = 0; head < heads; head += 1) {
    const group = Math.floor(head / (heads / kvHeads));
    const keys = cache + 2 * group * capacity * headDim;
    const values = keys + capacity * headDim;
    for (let i = 0; i < count; i += 1) {
      const row = q + i * ldq + head * headDim;
      const p = probabilities(heap, row, keys, headDim, position + i + 1, headDim);
      for (let d = 0; d < headDim; d += 1) {
        let sum = 0;
        for (let j = 0; j < p.length; j += 1) sum += p[j]! * heap[values + j * headDim + d]!;
        heap[out + i * ldOut + head * headDim + d] = sum;
      }
    }
  }
}

/**
 * Backward for one sequence whose last `count` of `length` positions were queried:
 * dV = Pᵀ dO, dP = dO Vᵀ, dS = P (dP − rowsum(P dP)) / sqrt(headDim), dQ = dS K, dK = dSᵀ Q. P is computed again.
 */
export function attentionBackward(
  heap: Float32Array,
  { heads, kvHeads, headDim }: AttentionShape,
  a: AttentionBackwardArguments
): void {
  for (let j = 0; j < a.length; j += 1) {
    heap.fill(0, a.dk + j * a.ldk, a.dk + j * a.ldk + kvHeads * headDim);
    heap.fill(0, a.dv + j * a.ldv, a.dv + j * a.ldv + kvHeads * headDim);
  }
  for (let head = 0; head < heads; head += 1) {
    const group = Math.floor(head / (heads / kvHeads));
    for (let i = 0; i < a.count; i += 1) queryBackward(heap, headDim, a, i, head * headDim, group * headDim);
  }
}

function queryBackward(
  heap: Float32Array,
  headDim: number,
  a: AttentionBackwardArguments,
  i: number,
  head: number,
  kvHead: number
): void {
  const q = a.q + i * a.ldq + head;
  const dOut = a.dOut + i * a.ldOut + head;
  const dq = a.dq + i * a.ldq + head;
  const p = probabilities(heap, q, a.k + kvHead, a.ldk, a.length - a.count + i + 1, headDim);
  const dp = p.map((_, j) => {
    let sum = 0;
    for (let d = 0; d < headDim; d += 1) sum += heap[dOut + d]! * heap[a.v + j * a.ldv + kvHead + d]!;
    return sum;
  });
  let mean = 0;
  for (let j = 0; j < p.length; j += 1) mean += p[j]! * dp[j]!;
  heap.fill(0, dq, dq + headDim);
  for (let j = 0; j < p.length; j += 1) {
    const ds = (p[j]! * (dp[j]! - mean)) / Math.sqrt(headDim);
    for (let d = 0; d < headDim; d += 1) {
      heap[dq + d]! += ds * heap[a.k + j * a.ldk + kvHead + d]!;
      heap[a.dk + j * a.ldk + kvHead + d]! += ds * heap[q + d]!;
      heap[a.dv + j * a.ldv + kvHead + d]! += p[j]! * heap[dOut + d]!;
    }
  }
}
