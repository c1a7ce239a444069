/**
 * Every k-th point of a series, always with the last one, so that at most `limit` are left: progress stays a few KB for any
 * number of steps.
 */
export function thin(points: readonly number[], limit: number): number[] {
  if (points.length <= limit) return [...points];
  const stride = Math.ceil(points.length / limit);
  const kept = points.filter((_, index) => index % stride === 0);
  const last = points[points.length - 1] as number;
  if ((points.length - 1) % stride !== 0) kept[kept.length - 1] = last;
  return kept;
}

/** Rounds to a number of decimals, to keep payloads short. */
export function round(value: number, decimals: number): number {
  const factor = 10 ** decimals;
  return Math.round(value * factor) / factor;
}
