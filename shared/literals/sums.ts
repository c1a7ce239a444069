/**
 * Exactly rounded sum of finite doubles (Python's `math.fsum`): partial sums that do not overlap are kept, so no bit is lost
 * and the order does not matter.
 *
 * Source: Shewchuk, "Adaptive precision floating-point arithmetic", 1997; final rounding as in CPython.
 *
 * @returns 0 (never −0) for a sum that is zero
 */
export function exactSum(values: Iterable<number>): number {
  const partials: number[] = [];
  for (const value of values) addToPartials(partials, value);
  return roundPartials(partials);
}

function addToPartials(partials: number[], value: number): void {
  let carried = value;
  let kept = 0;
  for (const partial of partials) {
    const [larger, smaller] = Math.abs(carried) < Math.abs(partial) ? [partial, carried] : [carried, partial];
    const high = larger + smaller;
    const low = smaller - (high - larger);
    if (low !== 0) {
      partials[kept] = low;
      kept += 1;
    }
    carried = high;
  }
  partials.length = kept;
  if (carried !== 0) partials.push(carried);
}

/** Adds the partials from the largest; the last addition is corrected where it would round a tie the wrong way. */
function roundPartials(partials: number[]): number {
  let at = partials.length - 1;
  let high = at >= 0 ? (partials[at] as number) : 0;
  let low = 0;
  while (at > 0 && low === 0) {
    at -= 1;
    const smaller = partials[at] as number;
    const sum = high + smaller;
    low = smaller - (sum - high);
    high = sum;
  }
  const next = at > 0 ? (partials[at - 1] as number) : 0;
  if ((low < 0 && next < 0) || (low > 0 && next > 0)) {
    const doubled = low * 2;
    const sum = high + doubled;
    if (doubled === sum - high) high = sum;
  }
  return high;
}

/** Mean with an exactly rounded sum (Python's `statistics.fmean`). */
export function exactMean(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('the mean of no values is not defined');
  return exactSum(values) / values.length;
}
