/**
 * Reads a CSV of numbers (no quotes, a header line) as columns. A torn last line and cells that are no numbers become NaN;
 * missing text is a table without columns.
 */
export function readNumberTable(text: string | undefined): Map<string, number[]> {
  const [header, ...lines] = (text ?? '').split(/\r?\n/).filter((line) => line.trim() !== '');
  const columns = new Map<string, number[]>();
  if (header === undefined) return columns;
  const names = header.split(',').map((name) => name.trim());
  for (const name of names) columns.set(name, []);
  for (const line of lines) {
    const cells = line.split(',');
    names.forEach((name, column) => columns.get(name)?.push(parseCell(cells[column])));
  }
  return columns;
}

function parseCell(cell: string | undefined): number {
  return cell === undefined || cell.trim() === '' ? NaN : Number(cell);
}

/** Trailing mean over `size` values; the first ones are means of what is there. NaN values are left out. */
export function movingMean(values: readonly number[], size: number): number[] {
  return values.map((_, end) => {
    const window = values.slice(Math.max(0, end - size + 1), end + 1).filter((value) => Number.isFinite(value));
    return window.length === 0 ? NaN : window.reduce((sum, value) => sum + value, 0) / window.length;
  });
}
