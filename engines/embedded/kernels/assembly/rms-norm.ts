import { sum4 } from './simd';

/** 1 / sqrt(mean(x²) + eps). */
// @ts-ignore: decorator
@inline
export function inverseRms(x: usize, width: i32, eps: f32): f32 {
  let sum = f32x4.splat(0);
  for (let j: usize = 0; j < <usize>width << 2; j += 16) {
    const v = v128.load(x + j);
    sum = f32x4.add(sum, f32x4.mul(v, v));
  }
  return <f32>1 / sqrt<f32>(sum4(sum) / <f32>width + eps);
}

/** y = x · inv · w for one row. */
// @ts-ignore: decorator
@inline
export function normalizeRow(x: usize, width: i32, inverse: f32, weight: usize, y: usize): void {
  const inv = f32x4.splat(inverse);
  for (let j: usize = 0; j < <usize>width << 2; j += 16) {
    v128.store(y + j, f32x4.mul(f32x4.mul(v128.load(x + j), inv), v128.load(weight + j)));
  }
}

/** dx (+)= inv · (g − x̂ · mean(g · x̂)), g = dy · w, x̂ = x · inv; dw += dy · x̂; one row. */
// @ts-ignore: decorator
@inline
export function normalizeRowBackward(
  x: usize,
  width: i32,
  eps: f32,
  weight: usize,
  dy: usize,
  dx: usize,
  accumulate: bool,
  dw: usize
): void {
  const inverse = inverseRms(x, width, eps);
  const inv = f32x4.splat(inverse);
  let sum = f32x4.splat(0);
  for (let j: usize = 0; j < <usize>width << 2; j += 16) {
    const hat = f32x4.mul(v128.load(x + j), inv);
    const part = f32x4.mul(v128.load(dy + j), hat);
    v128.store(dw + j, f32x4.add(v128.load(dw + j), part));
    sum = f32x4.add(sum, f32x4.mul(part, v128.load(weight + j)));
  }
  const mean = f32x4.splat(sum4(sum) / <f32>width);
  for (let j: usize = 0; j < <usize>width << 2; j += 16) {
    const hat = f32x4.mul(v128.load(x + j), inv);
    const g = f32x4.mul(v128.load(dy + j), v128.load(weight + j));
    const d = f32x4.mul(inv, f32x4.sub(g, f32x4.mul(hat, mean)));
    v128.store(dx + j, accumulate ? f32x4.add(v128.load(dx + j), d) : d);
  }
}

/** y = x / sqrt(mean(x²) + eps) · w, row by row; rows are contiguous. Source: Zhang and Sennrich 2019, as in Qwen3RMSNorm. */
export function rmsNormForward(x: usize, rows: i32, width: i32, weight: usize, eps: f32, y: usize): void {
  const stride = <usize>width << 2;
  for (let i = 0; i < rows; i++) {
    normalizeRow(x, width, inverseRms(x, width, eps), weight, y);
    x += stride;
    y += stride;
  }
}

export function rmsNormBackward(
  x: usize,
  rows: i32,
  width: i32,
  weight: usize,
  eps: f32,
  dy: usize,
  dx: usize,
  accumulate: bool,
  dw: usize
): void {
  const stride = <usize>width << 2;
  for (let i = 0; i < rows; i++) {
    normalizeRowBackward(x, width, eps, weight, dy, dx, accumulate, dw);
    x += stride;
    dy += stride;
    dx += stride;
  }
}
