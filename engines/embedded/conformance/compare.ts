/** Allowed error of one kind of number: |actual − expected| ≤ absolute + relative · |expected|. */
export interface Tolerance {
  absolute?: number;
  relative?: number;
}

/** A number of a case file; infinities are the strings "inf" and "-inf" there. */
export type CaseNumber = number | 'inf' | '-inf';

export function toNumber(value: CaseNumber): number {
  if (value === 'inf') return Infinity;
  return value === '-inf' ? -Infinity : value;
}

/** One line for a number beyond the tolerance, else none. */
export function compareNumber(name: string, actual: number, expected: CaseNumber, tolerance: Tolerance): string[] {
  const wanted = toNumber(expected);
  const allowed = (tolerance.absolute ?? 0) + (tolerance.relative ?? 0) * Math.abs(wanted);
  if (actual === wanted || Math.abs(actual - wanted) <= allowed) return [];
  return [`${name}: expected ${wanted}, got ${actual}, allowed error ${allowed.toExponential(1)}`];
}

/** One line for a list: its length or its worst entry, else none. */
export function compareNumbers(
  name: string,
  actual: ArrayLike<number>,
  expected: readonly CaseNumber[],
  tolerance: Tolerance
): string[] {
  if (actual.length !== expected.length) return [`${name}: expected ${expected.length} numbers, got ${actual.length}`];
  const lines = expected.flatMap((value, i) => compareNumber(`${name}[${i}]`, actual[i]!, value, tolerance));
  return lines.length > 1 ? [`${lines[0]} (and ${lines.length - 1} more)`] : lines;
}
