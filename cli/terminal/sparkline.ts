const BARS = '▁▂▃▄▅▆▇█';

/**
 * A curve in one line of text: the mean of each of `width` equal parts. The scale is fixed (rewards lie in 0 … 1), so that two
 * curves can be compared.
 */
export function sparkline(values: readonly number[], width: number, low = 0, high = 1): string {
  const cells = Math.min(width, values.length);
  let line = '';
  for (let i = 0; i < cells; i++) {
    const from = Math.floor((i * values.length) / cells);
    const to = Math.max(from + 1, Math.floor(((i + 1) * values.length) / cells));
    const part = values.slice(from, to).filter(Number.isFinite);
    if (part.length === 0) {
      line += ' ';
      continue;
    }
    const mean = part.reduce((sum, value) => sum + value, 0) / part.length;
    const share = Math.min(1, Math.max(0, (mean - low) / (high - low)));
    line += BARS[Math.min(BARS.length - 1, Math.floor(share * BARS.length))] ?? '';
  }
  return line;
}
