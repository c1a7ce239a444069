import { gemm } from './gemm';
import { packColumns } from './pack';
import { exp4, sum4 } from './simd';

/** Query rows handled together. */
const BLOCK: i32 = 32;

/**
 * Keys and values of one sequence and layer, `capacity` (multiple of 8) positions, in the panels the matrix product reads.
 * Per key/value head: K as [capacity/8][headDim][8 positions], then V as [headDim/8, rounded up][capacity][8 dims].
 */
export function appendKeyValue(
  k: usize,
  ldk: i32,
  v: usize,
  ldv: i32,
  count: i32,
  position: i32,
  cache: usize,
  capacity: i32,
  kvHeads: i32,
  headDim: i32
): void {
  const wide = (headDim + 7) & ~7;
  const headFloats = capacity * (headDim + wide);
  for (let h = 0; h < kvHeads; h++) {
    const keys = cache + ((<usize>(h * headFloats)) << 2);
    const values = keys + ((<usize>(capacity * headDim)) << 2);
    for (let i = 0; i < count; i++) {
      const at = position + i;
      const key = k + ((<usize>(i * ldk + h * headDim)) << 2);
      const value = v + ((<usize>(i * ldv + h * headDim)) << 2);
      const to = keys + ((<usize>((at >> 3) * headDim * 8 + (at & 7))) << 2);
      for (let d = 0; d < headDim; d++) store<f32>(to + ((<usize>d) << 5), load<f32>(key + ((<usize>d) << 2)));
      for (let d = 0; d < headDim; d += 4) {
        const panel = values + ((<usize>((d >> 3) * capacity * 8 + at * 8 + (d & 7))) << 2);
        v128.store(panel, v128.load(value + ((<usize>d) << 2)));
      }
    }
  }
}

/** p = softmax(scale · s) over the first valid0 + step·row columns of each row, 0 beyond up to ld; in place. */
function softmaxRows(s: usize, ld: i32, rows: i32, valid0: i32, step: i32, scale: f32): void {
  const factor = f32x4.splat(scale);
  for (let r = 0; r < rows; r++) {
    const valid = valid0 + step * r;
    const full = valid & ~3;
    let top: f32 = -Infinity;
    let best = f32x4.splat(-Infinity);
    let j = 0;
    for (; j < full; j += 4) best = f32x4.pmax(v128.load(s + ((<usize>j) << 2)), best);
    top = max(
      max(f32x4.extract_lane(best, 0), f32x4.extract_lane(best, 1)),
      max(f32x4.extract_lane(best, 2), f32x4.extract_lane(best, 3))
    );
    for (; j < valid; j++) top = max(top, load<f32>(s + ((<usize>j) << 2)));
    const m = f32x4.splat(top);
    let sum = f32x4.splat(0);
    for (j = 0; j < full; j += 4) {
      const at = s + ((<usize>j) << 2);
      const e = exp4(f32x4.mul(f32x4.sub(v128.load(at), m), factor));
      v128.store(at, e);
      sum = f32x4.add(sum, e);
    }
    if (j < valid) {
      const at = s + ((<usize>j) << 2);
      const lanes = i32x4.gt_s(i32x4.splat(valid - j), i32x4(0, 1, 2, 3));
      const e = v128.and(exp4(f32x4.mul(f32x4.sub(v128.load(at), m), factor)), lanes);
      v128.store(at, e);
      sum = f32x4.add(sum, e);
      j += 4;
    }
    for (; j < ld; j += 4) v128.store(s + ((<usize>j) << 2), f32x4.splat(0));
    const inverse = f32x4.splat(<f32>1 / sum4(sum));
    for (j = 0; j < valid; j += 4) {
      const at = s + ((<usize>j) << 2);
      v128.store(at, f32x4.mul(v128.load(at), inverse));
    }
    s += (<usize>ld) << 2;
  }
}

/**
 * out[i, h] = Σ_j softmax_j(q[i, h] · k[j, g] · scale) v[j, g], j ≤ position + i, g = floor(h / (heads / kvHeads)).
 * q and out: [count, heads · headDim] with ldq, ldo; keys and values up to position + count − 1 are in the cache.
 * scratch: 32 · (positions rounded up to 8) floats.
 */
export function attend(
  q: usize,
  ldq: i32,
  count: i32,
  position: i32,
  cache: usize,
  capacity: i32,
  heads: i32,
  kvHeads: i32,
  headDim: i32,
  scale: f32,
  out: usize,
  ldo: i32,
  scratch: usize
): void {
  const wide = (headDim + 7) & ~7;
  const group = heads / kvHeads;
  const headBytes = (<usize>(capacity * (headDim + wide))) << 2;
  const keyPanel = (<usize>headDim) << 5;
  const valuePanel = (<usize>capacity) << 5;
  for (let g = 0; g < kvHeads; g++) {
    const keys = cache + <usize>g * headBytes;
    const values = keys + ((<usize>(capacity * headDim)) << 2);
    const first = (<usize>(g * group * headDim)) << 2;
    if (count === 1) {
      attendOne(q + first, position + 1, keys, values, capacity, group, headDim, scale, out + first, scratch);
      continue;
    }
    for (let h = 0; h < group; h++) {
      const head = first + ((<usize>(h * headDim)) << 2);
      for (let i = 0; i < count; i += BLOCK) {
        const rows = min(BLOCK, count - i);
        const n = position + i + rows;
        const ld = (n + 7) & ~7;
        const s = (<usize>ld) << 2;
        const from = q + head + ((<usize>(i * ldq)) << 2);
        const to = out + head + ((<usize>(i * ldo)) << 2);
        gemm(rows, ld, headDim, from, (<usize>ldq) << 2, 4, keys, keyPanel, 32, scratch, s, false);
        softmaxRows(scratch, ld, rows, position + i + 1, 1, scale);
        gemm(rows, headDim, n, scratch, s, 4, values, valuePanel, 32, to, (<usize>ldo) << 2, false);
      }
    }
  }
}

/** One query of `n` keys: the heads of the group, side by side in q and out, are the rows. */
function attendOne(
  q: usize,
  n: i32,
  keys: usize,
  values: usize,
  capacity: i32,
  group: i32,
  headDim: i32,
  scale: f32,
  out: usize,
  scratch: usize
): void {
  const ld = (n + 7) & ~7;
  const s = <usize>ld << 2;
  const row = <usize>headDim << 2;
  gemm(group, ld, headDim, q, row, 4, keys, row << 3, 32, scratch, s, false);
  softmaxRows(scratch, ld, group, n, 0, scale);
  gemm(group, headDim, n, scratch, s, 4, values, <usize>capacity << 5, 32, out, row, false);
}

/** ds = p · (dp − Σ_j p dp) · scale, row by row; overwrites dp. */
function softmaxRowsBackward(p: usize, dp: usize, ld: i32, rows: i32, scale: f32): void {
  const bytes = (<usize>ld) << 2;
  const factor = f32x4.splat(scale);
  for (let r = 0; r < rows; r++) {
    let sum = f32x4.splat(0);
    for (let j: usize = 0; j < bytes; j += 16) {
      sum = f32x4.add(sum, f32x4.mul(v128.load(p + j), v128.load(dp + j)));
    }
    const mean = f32x4.splat(sum4(sum));
    for (let j: usize = 0; j < bytes; j += 16) {
      const d = f32x4.mul(v128.load(p + j), f32x4.sub(v128.load(dp + j), mean));
      v128.store(dp + j, f32x4.mul(d, factor));
    }
    p += bytes;
    dp += bytes;
  }
}

/**
 * Backward of causal attention of one sequence of n positions whose last `count` positions were queried; the probabilities are
 * computed again, with the same bits. q, dout, dq: [count, …]; k, v, dk, dv: [n, …]; dq, dk, dv are overwritten.
 * P = softmax, dV = Pᵀ dO, dP = dO Vᵀ, dS = P (dP − rowsum(P dP)) scale, dQ = dS K, dK = dSᵀ Q.
 * scratch: (2 headDim + 64) · (n rounded up to 8) floats.
 */
export function attentionBackward(
  q: usize,
  ldq: i32,
  k: usize,
  ldk: i32,
  v: usize,
  ldv: i32,
  dout: usize,
  ldo: i32,
  dq: usize,
  dk: usize,
  dv: usize,
  n: i32,
  start: i32,
  count: i32,
  heads: i32,
  kvHeads: i32,
  headDim: i32,
  scale: f32,
  scratch: usize
): void {
  const group = heads / kvHeads;
  const room = (n + 7) & ~7;
  const keys = scratch;
  const values = keys + ((<usize>(room * headDim)) << 2);
  const p = values + ((<usize>(room * headDim)) << 2);
  const ds = p + ((<usize>(room * BLOCK)) << 2);
  const panel = (<usize>headDim) << 5;
  const qBytes = (<usize>ldq) << 2;
  const kBytes = (<usize>ldk) << 2;
  const vBytes = (<usize>ldv) << 2;
  const oBytes = (<usize>ldo) << 2;
  for (let g = 0; g < kvHeads; g++) {
    const kHead = (<usize>(g * headDim)) << 2;
    packColumns(k + kHead, ldk, n, headDim, keys);
    packColumns(v + kHead, ldv, n, headDim, values);
    for (let i = 0; i < n; i++) {
      memory.fill(dk + kHead + <usize>i * kBytes, 0, (<usize>headDim) << 2);
      memory.fill(dv + kHead + <usize>i * vBytes, 0, (<usize>headDim) << 2);
    }
    for (let h = 0; h < group; h++) {
      const head = (<usize>((g * group + h) * headDim)) << 2;
      for (let i = 0; i < count; i += BLOCK) {
        const rows = min(BLOCK, count - i);
        const m = start + i + rows;
        const ld = (m + 7) & ~7;
        const s = (<usize>ld) << 2;
        const qRow = q + head + <usize>i * qBytes;
        const oRow = dout + head + <usize>i * oBytes;
        gemm(rows, ld, headDim, qRow, qBytes, 4, keys, panel, 32, p, s, false);
        softmaxRows(p, ld, rows, start + i + 1, 1, scale);
        gemm(rows, ld, headDim, oRow, oBytes, 4, values, panel, 32, ds, s, false);
        softmaxRowsBackward(p, ds, ld, rows, scale);
        gemm(rows, headDim, m, ds, s, 4, k + kHead, 32, kBytes, dq + head + <usize>i * qBytes, qBytes, false);
        gemm(m, headDim, rows, ds, 4, s, qRow, 32, qBytes, dk + kHead, kBytes, true);
        gemm(m, headDim, rows, p, 4, s, oRow, 32, oBytes, dv + kHead, vBytes, true);
      }
    }
  }
}
