import { exp4 } from './simd';

/** act = silu(gate) · up, silu(g) = g / (1 + exp(−g)). gateUp [rows, 2·width]: gates, then ups. act [rows, width]. */
export function swigluForward(gateUp: usize, rows: i32, width: i32, act: usize): void {
  const bytes = (<usize>width) << 2;
  const one = f32x4.splat(1);
  for (let i = 0; i < rows; i++) {
    for (let j: usize = 0; j < bytes; j += 16) {
      const g = v128.load(gateUp + j);
      const silu = f32x4.div(g, f32x4.add(one, exp4(f32x4.neg(g))));
      v128.store(act + j, f32x4.mul(silu, v128.load(gateUp + bytes + j)));
    }
    gateUp += bytes << 1;
    act += bytes;
  }
}

/** dgate = dact · up · s (1 + g (1 − s)), dup = dact · g s, s = sigmoid(g); overwrites gateUp with its gradient. */
export function swigluBackward(gateUp: usize, rows: i32, width: i32, dact: usize): void {
  const bytes = (<usize>width) << 2;
  const one = f32x4.splat(1);
  for (let i = 0; i < rows; i++) {
    for (let j: usize = 0; j < bytes; j += 16) {
      const g = v128.load(gateUp + j);
      const up = v128.load(gateUp + bytes + j);
      const d = v128.load(dact + j);
      const s = f32x4.div(one, f32x4.add(one, exp4(f32x4.neg(g))));
      const slope = f32x4.mul(s, f32x4.add(one, f32x4.mul(g, f32x4.sub(one, s))));
      v128.store(gateUp + j, f32x4.mul(f32x4.mul(d, up), slope));
      v128.store(gateUp + bytes + j, f32x4.mul(d, f32x4.mul(g, s)));
    }
    gateUp += bytes << 1;
    dact += bytes;
  }
}
