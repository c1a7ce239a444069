import { describe, expect, it } from 'vitest';
import { BinomialTable } from '../../../shared/scoring/binomial-table.js';
import { pairedBootstrap } from '../../../shared/scoring/bootstrap.js';

describe('the paired bootstrap', () => {
  const differences: number[] = Array.from({ length: 200 }, (_, at) => (at % 5 === 0 ? 1 : at % 7 === 0 ? -1 : 0));

  it('gives the same interval for the same differences and seed, and another one for another seed', () => {
    expect(pairedBootstrap(differences)).toEqual(pairedBootstrap(differences));
    const few = (seed: number) => pairedBootstrap(differences, { seed, resamples: 37 });
    expect(few(1)).not.toEqual(few(2));
  });

  it('is near the normal interval of the mean for many samples', () => {
    const mean = differences.reduce((sum, value) => sum + value, 0) / 200;
    const spread = Math.sqrt(differences.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 199 / 200);
    const { low, high } = pairedBootstrap(differences, { resamples: 4000 });
    expect(Math.abs(low - (mean - 1.96 * spread))).toBeLessThan(0.2 * spread);
    expect(Math.abs(high - (mean + 1.96 * spread))).toBeLessThan(0.2 * spread);
  });

  it('draws disagreements by their counts as it would draw them item by item', () => {
    // Halves are no signs, so they are drawn one by one.
    const halves = pairedBootstrap(differences.map((difference) => difference / 2));
    const counts = pairedBootstrap(differences);
    expect(Math.abs(counts.low - 2 * halves.low)).toBeLessThan(0.006);
    expect(Math.abs(counts.high - 2 * halves.high)).toBeLessThan(0.006);
    expect(pairedBootstrap([1, 1, 1])).toEqual({ low: 1, high: 1 });
    expect(pairedBootstrap([-1, -1])).toEqual({ low: -1, high: -1 });
    expect(pairedBootstrap([0, 0])).toEqual({ low: 0, high: 0 });
  });

  it('is a point when all differences are equal', () => {
    expect(pairedBootstrap([0.5, 0.5, 0.5])).toEqual({ low: 0.5, high: 0.5 });
    expect(() => pairedBootstrap([])).toThrow(RangeError);
  });
});

describe('a binomial table', () => {
  /** P(X = k), from the places where the count changes on a fine grid. */
  function shares(table: BinomialTable, trials: number): number[] {
    const grid = 200_000;
    const counts = new Array<number>(trials + 1).fill(0);
    for (let at = 0; at < grid; at += 1) {
      const drawn = table.at(at / grid);
      counts[drawn] = (counts[drawn] ?? 0) + 1;
    }
    return counts.map((count) => count / grid);
  }

  it('draws each count as often as its probability says', () => {
    const expected = [0.2401, 0.4116, 0.2646, 0.0756, 0.0081];
    shares(new BinomialTable(4, 0.3), 4).forEach((share, k) => expect(share).toBeCloseTo(expected[k] ?? 0, 4));
  });

  it('knows chances of nothing and of everything, and very many trials', () => {
    expect(new BinomialTable(7, 0).at(0.999)).toBe(0);
    expect(new BinomialTable(7, 1).at(0)).toBe(7);
    expect(new BinomialTable(0, 0.5).at(0.5)).toBe(0);
    expect(new BinomialTable(100_000, 0.5).at(0.5)).toBeCloseTo(50_000, -1);
  });
});
