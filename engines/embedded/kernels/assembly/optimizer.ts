/** Σ x², summed in double precision in a fixed order; length a multiple of 4. */
export function squareSum(x: usize, length: i32): f64 {
  let low = f64x2.splat(0);
  let high = f64x2.splat(0);
  for (let j: usize = 0; j < (<usize>length) << 2; j += 16) {
    const v = v128.load(x + j);
    const a = f64x2.promote_low_f32x4(v);
    const b = f64x2.promote_low_f32x4(i64x2.shuffle(v, v, 1, 0));
    low = f64x2.add(low, f64x2.mul(a, a));
    high = f64x2.add(high, f64x2.mul(b, b));
  }
  return (
    f64x2.extract_lane(low, 0) +
    f64x2.extract_lane(low, 1) +
    (f64x2.extract_lane(high, 0) + f64x2.extract_lane(high, 1))
  );
}

/** target += source. */
export function addInto(target: usize, source: usize, length: i32): void {
  for (let j: usize = 0; j < (<usize>length) << 2; j += 16) {
    v128.store(target + j, f32x4.add(v128.load(target + j), v128.load(source + j)));
  }
}

/**
 * AdamW with decoupled decay (Loshchilov and Hutter 2019): g = clip · gradient; m = β₁m + (1−β₁)g; v = β₂v + (1−β₂)g²;
 * p −= lr · (m / (1−β₁ᵗ)) / (sqrt(v / (1−β₂ᵗ)) + eps) + lr · decay · p. correction = 1 / (1−βᵗ).
 */
export function adamw(
  p: usize,
  gradient: usize,
  first: usize,
  second: usize,
  length: i32,
  clip: f32,
  learningRate: f32,
  beta1: f32,
  oneMinusBeta1: f32,
  beta2: f32,
  oneMinusBeta2: f32,
  epsilon: f32,
  lrDecay: f32,
  correction1: f32,
  correction2: f32
): void {
  for (let j: usize = 0; j < (<usize>length) << 2; j += 16) {
    const g = f32x4.mul(v128.load(gradient + j), f32x4.splat(clip));
    const m = f32x4.add(f32x4.mul(v128.load(first + j), f32x4.splat(beta1)), f32x4.mul(g, f32x4.splat(oneMinusBeta1)));
    const v = f32x4.add(
      f32x4.mul(v128.load(second + j), f32x4.splat(beta2)),
      f32x4.mul(f32x4.mul(g, g), f32x4.splat(oneMinusBeta2))
    );
    v128.store(first + j, m);
    v128.store(second + j, v);
    const denominator = f32x4.add(f32x4.sqrt(f32x4.mul(v, f32x4.splat(correction2))), f32x4.splat(epsilon));
    const step = f32x4.div(f32x4.mul(f32x4.mul(m, f32x4.splat(correction1)), f32x4.splat(learningRate)), denominator);
    const old = v128.load(p + j);
    v128.store(p + j, f32x4.sub(old, f32x4.add(step, f32x4.mul(old, f32x4.splat(lrDecay)))));
  }
}
