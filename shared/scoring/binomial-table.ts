/** The cumulative distribution of a binomial variable, to draw from it by inversion. */
export class BinomialTable {
  /** P(X ≤ k) for k = 0 … trials. */
  private readonly cumulative: Float64Array;

  /**
   * @param trials whole number ≥ 0
   * @param chance probability of success, 0 … 1
   */
  constructor(trials: number, chance: number) {
    this.cumulative = new Float64Array(trials + 1);
    // From the most likely count outwards: weights next to it are near 1, far ones vanish instead of the whole.
    const mode = Math.min(trials, Math.floor((trials + 1) * chance));
    const odds = chance / (1 - chance);
    this.cumulative[mode] = 1;
    for (let k = mode, weight = 1; k < trials && weight > 0; k += 1) {
      weight *= ((trials - k) / (k + 1)) * odds;
      this.cumulative[k + 1] = weight;
    }
    for (let k = mode, weight = 1; k > 0 && weight > 0; k -= 1) {
      weight *= k / (trials - k + 1) / odds;
      this.cumulative[k - 1] = weight;
    }
    const total = this.cumulative.reduce((sum, weight) => sum + weight, 0);
    let sum = 0;
    for (let k = 0; k <= trials; k += 1) {
      sum += this.cumulative[k] as number;
      this.cumulative[k] = sum / total;
    }
  }

  /** The count at which the cumulative distribution passes `uniform`, a number in [0, 1). */
  at(uniform: number): number {
    let low = 0;
    let high = this.cumulative.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (uniform < (this.cumulative[middle] as number)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
