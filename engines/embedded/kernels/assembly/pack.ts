/**
 * Copies a matrix into panels of 8 columns, the layout in which the matrix product reads its right side: element (k, 8p + j)
 * at float p·8K + 8k + j. Columns beyond N are 0.
 */

/** From B[k, n] row-major (ld floats a row). Used for dX = dY · W (B = W) and dW = dYᵀ · X (B = X). */
export function packRows(source: usize, ld: i32, K: i32, N: i32, target: usize): void {
  const stride = (<usize>ld) << 2;
  for (let n = 0; n < N; n += 8) {
    let from = source + ((<usize>n) << 2);
    if (n + 8 <= N) {
      for (let k = 0; k < K; k++) {
        v128.store(target, v128.load(from));
        v128.store(target, v128.load(from, 16), 16);
        from += stride;
        target += 32;
      }
    } else {
      for (let k = 0; k < K; k++) {
        for (let j = 0; j < 8; j++)
          store<f32>(target + ((<usize>j) << 2), n + j < N ? load<f32>(from + ((<usize>j) << 2)) : 0);
        from += stride;
        target += 32;
      }
    }
  }
}

/** From W[n, k] row-major (ld floats a row), so that B = Wᵀ. Used for Y = X · Wᵀ. */
export function packColumns(source: usize, ld: i32, N: i32, K: i32, target: usize): void {
  for (let n = 0; n < N; n += 8) {
    for (let k = 0; k < K; k++) {
      for (let j = 0; j < 8; j++) {
        const value = n + j < N ? load<f32>(source + ((<usize>((n + j) * ld + k)) << 2)) : <f32>0;
        store<f32>(target + ((<usize>j) << 2), value);
      }
      target += 32;
    }
  }
}
