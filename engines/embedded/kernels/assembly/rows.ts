/** target[i] = source[index[i]]: embedding look-up and the choice of rows. Contiguous rows of `width` floats, int32 indexes. */
export function gatherRows(source: usize, index: usize, rows: i32, width: i32, target: usize): void {
  const bytes = (<usize>width) << 2;
  for (let i = 0; i < rows; i++) {
    const from = source + <usize>load<i32>(index + ((<usize>i) << 2)) * bytes;
    for (let j: usize = 0; j < bytes; j += 16) v128.store(target + j, v128.load(from + j));
    target += bytes;
  }
}

/** target[index[i]] += source[i], in the order of i: the backward of the look-up. */
export function scatterAddRows(source: usize, index: usize, rows: i32, width: i32, target: usize): void {
  const bytes = (<usize>width) << 2;
  for (let i = 0; i < rows; i++) {
    const to = target + <usize>load<i32>(index + ((<usize>i) << 2)) * bytes;
    for (let j: usize = 0; j < bytes; j += 16) {
      v128.store(to + j, f32x4.add(v128.load(to + j), v128.load(source + j)));
    }
    source += bytes;
  }
}
