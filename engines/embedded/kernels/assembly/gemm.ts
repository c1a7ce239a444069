import { multiplyAdd } from './simd';

/**
 * Matrix product with strides: C[m, n] = (accumulate ? C : 0) + Σ_k A[m, k] · B[k, n].
 *
 * Every element is one sum over k = 0, 1, 2, … in that order, starting from 0, whatever the tile: a row of C has the same bits
 * for any number of rows M. That is what makes prefill, decoding, training and every batch composition agree.
 *
 * - A: element (m, k) at a + m·sai + k·sak.
 * - B: columns in panels of 8; element (k, 8p + j) at b + p·sbp + k·sbk + 4j. Row-major B: sbp = 32, sbk = row bytes.
 * - C: row-major with ldc bytes a row; N a multiple of 4.
 * Strides are in bytes.
 */
export function gemm(
  M: i32,
  N: i32,
  K: i32,
  a: usize,
  sai: usize,
  sak: usize,
  b: usize,
  sbp: usize,
  sbk: usize,
  c: usize,
  ldc: usize,
  accumulate: bool
): void {
  const tall = M & ~3;
  if (tall > 0) {
    let panel = b;
    for (let j = 0; j < N; j += 8) {
      const half = N - j < 8;
      let row = a;
      let out = c + (<usize>j << 2);
      for (let i = 0; i < tall; i += 4) {
        tile4(K, row, sai, sak, panel, sbk, out, ldc, accumulate, half);
        row += sai << 2;
        out += ldc << 2;
      }
      panel += sbp;
    }
  }
  if (tall < M) few(M - tall, N, K, a + <usize>tall * sai, sai, sak, b, sbp, sbk, c + <usize>tall * ldc, ldc, accumulate);
}

/** One to three rows: tiles of up to 16 columns, so that enough sums run side by side. */
function few(
  M: i32,
  N: i32,
  K: i32,
  a: usize,
  sai: usize,
  sak: usize,
  b: usize,
  sbp: usize,
  sbk: usize,
  c: usize,
  ldc: usize,
  accumulate: bool
): void {
  let j = 0;
  for (; j + 16 <= N; j += 16) {
    let row = a;
    let out = c + (<usize>j << 2);
    let i = 0;
    if (M >= 2) {
      tile2x16(K, row, sai, sak, b, b + sbp, sbk, out, ldc, accumulate);
      row += sai << 1;
      out += ldc << 1;
      i = 2;
    }
    if (i < M) {
      tile1(K, row, sak, b, sbk, out, accumulate, false);
      tile1(K, row, sak, b + sbp, sbk, out + 32, accumulate, false);
    }
    b += sbp << 1;
  }
  for (; j < N; j += 8) {
    const half = N - j < 8;
    let row = a;
    let out = c + (<usize>j << 2);
    for (let i = 0; i < M; i++) {
      tile1(K, row, sak, b, sbk, out, accumulate, half);
      row += sai;
      out += ldc;
    }
    b += sbp;
  }
}

/** Four rows by eight columns: eight running sums stay in registers. */
function tile4(
  K: i32,
  a0: usize,
  sai: usize,
  sak: usize,
  b: usize,
  sbk: usize,
  c: usize,
  ldc: usize,
  accumulate: bool,
  half: bool
): void {
  let a1 = a0 + sai;
  let a2 = a1 + sai;
  let a3 = a2 + sai;
  let c00 = f32x4.splat(0);
  let c01 = f32x4.splat(0);
  let c10 = f32x4.splat(0);
  let c11 = f32x4.splat(0);
  let c20 = f32x4.splat(0);
  let c21 = f32x4.splat(0);
  let c30 = f32x4.splat(0);
  let c31 = f32x4.splat(0);
  for (let k = 0; k < K; k++) {
    const b0 = v128.load(b);
    const b1 = v128.load(b, 16);
    const x0 = v128.load32_splat(a0);
    c00 = multiplyAdd(x0, b0, c00);
    c01 = multiplyAdd(x0, b1, c01);
    const x1 = v128.load32_splat(a1);
    c10 = multiplyAdd(x1, b0, c10);
    c11 = multiplyAdd(x1, b1, c11);
    const x2 = v128.load32_splat(a2);
    c20 = multiplyAdd(x2, b0, c20);
    c21 = multiplyAdd(x2, b1, c21);
    const x3 = v128.load32_splat(a3);
    c30 = multiplyAdd(x3, b0, c30);
    c31 = multiplyAdd(x3, b1, c31);
    b += sbk;
    a0 += sak;
    a1 += sak;
    a2 += sak;
    a3 += sak;
  }
  put(c, c00, c01, accumulate, half);
  put(c + ldc, c10, c11, accumulate, half);
  put(c + (ldc << 1), c20, c21, accumulate, half);
  put(c + ldc * 3, c30, c31, accumulate, half);
}

/** Two rows by sixteen columns, from two panels. */
function tile2x16(
  K: i32,
  a0: usize,
  sai: usize,
  sak: usize,
  b: usize,
  next: usize,
  sbk: usize,
  c: usize,
  ldc: usize,
  accumulate: bool
): void {
  let a1 = a0 + sai;
  let c00 = f32x4.splat(0);
  let c01 = f32x4.splat(0);
  let c02 = f32x4.splat(0);
  let c03 = f32x4.splat(0);
  let c10 = f32x4.splat(0);
  let c11 = f32x4.splat(0);
  let c12 = f32x4.splat(0);
  let c13 = f32x4.splat(0);
  for (let k = 0; k < K; k++) {
    const x0 = v128.load32_splat(a0);
    const x1 = v128.load32_splat(a1);
    const b0 = v128.load(b);
    c00 = multiplyAdd(x0, b0, c00);
    c10 = multiplyAdd(x1, b0, c10);
    const b1 = v128.load(b, 16);
    c01 = multiplyAdd(x0, b1, c01);
    c11 = multiplyAdd(x1, b1, c11);
    const b2 = v128.load(next);
    c02 = multiplyAdd(x0, b2, c02);
    c12 = multiplyAdd(x1, b2, c12);
    const b3 = v128.load(next, 16);
    c03 = multiplyAdd(x0, b3, c03);
    c13 = multiplyAdd(x1, b3, c13);
    b += sbk;
    next += sbk;
    a0 += sak;
    a1 += sak;
  }
  put(c, c00, c01, accumulate, false);
  put(c + 32, c02, c03, accumulate, false);
  put(c + ldc, c10, c11, accumulate, false);
  put(c + ldc + 32, c12, c13, accumulate, false);
}

function tile1(K: i32, a0: usize, sak: usize, b: usize, sbk: usize, c: usize, accumulate: bool, half: bool): void {
  let c00 = f32x4.splat(0);
  let c01 = f32x4.splat(0);
  for (let k = 0; k < K; k++) {
    const x0 = v128.load32_splat(a0);
    c00 = multiplyAdd(x0, v128.load(b), c00);
    c01 = multiplyAdd(x0, v128.load(b, 16), c01);
    b += sbk;
    a0 += sak;
  }
  put(c, c00, c01, accumulate, half);
}

// @ts-ignore: decorator
@inline
function put(c: usize, low: v128, high: v128, accumulate: bool, half: bool): void {
  v128.store(c, accumulate ? f32x4.add(v128.load(c), low) : low);
  if (!half) v128.store(c, accumulate ? f32x4.add(v128.load(c, 16), high) : high, 16);
}
