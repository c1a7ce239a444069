/** Small vector helpers: horizontal sums in one fixed order, and exp for four lanes. */

/** c + a · b: rounded twice, the same on every machine; in the build with relaxed SIMD rounded once where the processor can. */
// @ts-ignore: decorator
@inline
export function multiplyAdd(a: v128, b: v128, c: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return f32x4.relaxed_madd(a, b, c);
  return f32x4.add(c, f32x4.mul(a, b));
}

/** ((x0 + x1) + (x2 + x3)): one fixed order, so that the bits never depend on the caller. */
// @ts-ignore: decorator
@inline
export function sum4(x: v128): f32 {
  return (
    f32x4.extract_lane(x, 0) + f32x4.extract_lane(x, 1) + (f32x4.extract_lane(x, 2) + f32x4.extract_lane(x, 3))
  );
}

/** The largest lane; NaN in lane 0 to 3 wins by IEEE maximum. */
// @ts-ignore: decorator
@inline
export function max4(x: v128): f32 {
  return max(
    max(f32x4.extract_lane(x, 0), f32x4.extract_lane(x, 1)),
    max(f32x4.extract_lane(x, 2), f32x4.extract_lane(x, 3))
  );
}

/**
 * exp(x) in four lanes, error below 2 units in the last place; exactly 0 below −87.33 (no denormals), clamped above 88.37.
 * exp(x) = 2^n · exp(r), n = round(x / ln 2), r = x − n ln 2 with ln 2 in two parts, exp(r) by a polynomial of degree 6.
 * NaN stays NaN, so that a broken value is noticed in the loss.
 * Source: Cephes expf (S. L. Moshier), coefficients as published.
 */
// @ts-ignore: decorator
@inline
export function exp4(x: v128): v128 {
  const low = f32x4.splat(-87.33654);
  const tooSmall = f32x4.lt(x, low);
  x = f32x4.pmin(f32x4.pmax(x, low), f32x4.splat(88.37626));
  // Adding 1.5 · 2^23 rounds to the nearest integer and leaves it in the low bits.
  const shifted = f32x4.add(f32x4.mul(x, f32x4.splat(1.4426950408889634)), f32x4.splat(12582912));
  const n = f32x4.sub(shifted, f32x4.splat(12582912));
  let r = f32x4.sub(x, f32x4.mul(n, f32x4.splat(0.693359375)));
  r = f32x4.sub(r, f32x4.mul(n, f32x4.splat(-2.1219444e-4)));
  let p = f32x4.splat(1.9875691500e-4);
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1.3981999507e-3));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(8.3334519073e-3));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(4.1665795894e-2));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(1.6666665459e-1));
  p = f32x4.add(f32x4.mul(p, r), f32x4.splat(5.0000001201e-1));
  p = f32x4.add(f32x4.mul(p, f32x4.mul(r, r)), f32x4.add(r, f32x4.splat(1)));
  const scale = i32x4.add(i32x4.shl(shifted, 23), i32x4.splat(0x3f800000));
  return v128.andnot(f32x4.mul(p, scale), tooSmall);
}
