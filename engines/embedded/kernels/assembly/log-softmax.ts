import { exp4, max4, sum4 } from './simd';

/**
 * For each row of logits [rows, ld] (first `vocab` columns count, ld a multiple of 8): x = logits / temperature, e = exp(x − max x).
 * Writes e (0 beyond vocab) to `exps` [rows, ld] and to `stats` [rows, 4]: max x, log Σ e, 1 / Σ e, entropy −Σ p log p.
 */
export function logSoftmax(
  logits: usize,
  ld: i32,
  rows: i32,
  vocab: i32,
  temperature: f32,
  exps: usize,
  stats: usize
): void {
  const bytes = (<usize>ld) << 2;
  const t = f32x4.splat(temperature);
  const unscaled = temperature === 1;
  for (let i = 0; i < rows; i++) {
    for (let j = vocab; j < ld; j++) store<f32>(logits + ((<usize>j) << 2), -Infinity);
    let top = f32x4.splat(-Infinity);
    for (let j: usize = 0; j < bytes; j += 16) top = f32x4.pmax(v128.load(logits + j), top);
    const largest = max4(top) / temperature;
    const m = f32x4.splat(largest);
    let sum = f32x4.splat(0);
    let weighted = f32x4.splat(0);
    for (let j: usize = 0; j < bytes; j += 16) {
      const x = v128.load(logits + j);
      // Division by 1 changes no bit but is the slowest operation here.
      const d = f32x4.sub(unscaled ? x : f32x4.div(x, t), m);
      const e = exp4(d);
      v128.store(exps + j, e);
      sum = f32x4.add(sum, e);
      // 0 · −∞ is NaN: a lane of probability 0 adds nothing.
      weighted = f32x4.add(weighted, v128.and(f32x4.mul(e, d), f32x4.ne(e, f32x4.splat(0))));
    }
    const total = sum4(sum);
    const logTotal = <f32>NativeMath.log(<f64>total);
    store<f32>(stats, largest);
    store<f32>(stats, logTotal, 4);
    store<f32>(stats, <f32>1 / total, 8);
    store<f32>(stats, logTotal - sum4(weighted) / total, 12);
    logits += bytes;
    exps += bytes;
    stats += 16;
  }
}

/**
 * dlogits[j] = c / temperature · ([j = target] − p[j]) with c = dL/dlogp of the row; overwrites the e of the forward.
 * targets: int32 a row; coefficients: float a row.
 */
export function logSoftmaxBackward(
  exps: usize,
  ld: i32,
  rows: i32,
  temperature: f32,
  stats: usize,
  targets: usize,
  coefficients: usize
): void {
  const bytes = (<usize>ld) << 2;
  for (let i = 0; i < rows; i++) {
    const c = load<f32>(coefficients + ((<usize>i) << 2)) / temperature;
    const scale = f32x4.splat(-c * load<f32>(stats, 8));
    for (let j: usize = 0; j < bytes; j += 16) v128.store(exps + j, f32x4.mul(v128.load(exps + j), scale));
    const at = exps + ((<usize>load<i32>(targets + ((<usize>i) << 2))) << 2);
    store<f32>(at, load<f32>(at) + c);
    exps += bytes;
    stats += 16;
  }
}
