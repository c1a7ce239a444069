import { inverseRms, normalizeRow, normalizeRowBackward } from './rms-norm';

/** Rotates one head in place: (x1, x2) → (x1 cos − x2 sin, x2 cos + x1 sin), x1/x2 = first/second half. sign = −1 turns back. */
// @ts-ignore: decorator
@inline
function rotate(x: usize, half: i32, cos: usize, sin: usize, sign: f32): void {
  const second = <usize>half << 2;
  let j = 0;
  for (; j + 4 <= half; j += 4) {
    const o = <usize>j << 2;
    const c = v128.load(cos + o);
    const s = f32x4.mul(v128.load(sin + o), f32x4.splat(sign));
    const x1 = v128.load(x + o);
    const x2 = v128.load(x + second + o);
    v128.store(x + o, f32x4.sub(f32x4.mul(x1, c), f32x4.mul(x2, s)));
    v128.store(x + second + o, f32x4.add(f32x4.mul(x2, c), f32x4.mul(x1, s)));
  }
  for (; j < half; j++) {
    const o = <usize>j << 2;
    const c = load<f32>(cos + o);
    const s = load<f32>(sin + o) * sign;
    const x1 = load<f32>(x + o);
    const x2 = load<f32>(x + second + o);
    store<f32>(x + o, x1 * c - x2 * s);
    store<f32>(x + second + o, x2 * c + x1 * s);
  }
}

/**
 * Per head: RMSNorm over head_dim, then RoPE by the row's position (Qwen3Attention). x [rows, ldx], y [rows, ldy], heads side by
 * side; positions: int32 a row; cos, sin: [positions, half].
 */
export function normRopeForward(
  x: usize,
  ldx: i32,
  rows: i32,
  heads: i32,
  headDim: i32,
  weight: usize,
  eps: f32,
  positions: usize,
  cos: usize,
  sin: usize,
  y: usize,
  ldy: i32
): void {
  const half = headDim >> 1;
  for (let i = 0; i < rows; i++) {
    const table = <usize>(load<i32>(positions + (<usize>i << 2)) * half) << 2;
    for (let h = 0; h < heads; h++) {
      const from = x + (<usize>(i * ldx + h * headDim) << 2);
      const to = y + (<usize>(i * ldy + h * headDim) << 2);
      normalizeRow(from, headDim, inverseRms(from, headDim, eps), weight, to);
      rotate(to, half, cos + table, sin + table, 1);
    }
  }
}

/** dy is turned back in place (the rotation's transpose), then goes through the norm's backward into dx; dw accumulates. */
export function normRopeBackward(
  x: usize,
  ldx: i32,
  rows: i32,
  heads: i32,
  headDim: i32,
  weight: usize,
  eps: f32,
  positions: usize,
  cos: usize,
  sin: usize,
  dy: usize,
  lddy: i32,
  dx: usize,
  lddx: i32,
  dw: usize
): void {
  const half = headDim >> 1;
  for (let i = 0; i < rows; i++) {
    const table = <usize>(load<i32>(positions + (<usize>i << 2)) * half) << 2;
    for (let h = 0; h < heads; h++) {
      const gradient = dy + (<usize>(i * lddy + h * headDim) << 2);
      rotate(gradient, half, cos + table, sin + table, -1);
      const from = x + (<usize>(i * ldx + h * headDim) << 2);
      const to = dx + (<usize>(i * lddx + h * headDim) << 2);
      normalizeRowBackward(from, headDim, eps, weight, gradient, to, false, dw);
    }
  }
}
