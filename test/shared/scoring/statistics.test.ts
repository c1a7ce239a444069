import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalUpperTail } from '../../../shared/scoring/normal-distribution.js';
import {
  exactMcNemar,
  pairedStatistics,
  smallestDetectableDifference,
  smallestLikelyDifference,
  tost,
} from '../../../shared/scoring/statistics.js';

const SEED = 20_260_706;

describe('the exact McNemar test', () => {
  it.each([
    [10, 25, 0.01667384780012071],
    [0, 6, 0.03125],
    [3, 3, 1],
    [0, 0, 1],
    [0, 5, 0.0625],
    [700, 800, 0.010559255466711544],
  ])('of %i against %i is the exact binomial probability', (onlyFirst, onlySecond, p) => {
    expect(Math.abs(exactMcNemar(onlyFirst, onlySecond) / p - 1)).toBeLessThan(1e-12);
  });

  it('is symmetric, at most 1, and smaller the more one-sided the disagreement is', () => {
    const count = fc.integer({ min: 0, max: 60 });
    fc.assert(
      fc.property(count, count, (a, b) => {
        expect(exactMcNemar(a, b)).toBe(exactMcNemar(b, a));
        expect(exactMcNemar(a, b)).toBeLessThanOrEqual(1);
        if (a < b) expect(exactMcNemar(a, b + 1)).toBeLessThan(exactMcNemar(a, b));
      }),
      { seed: SEED, numRuns: 500 }
    );
  });

  it('refuses counts that are none', () => {
    expect(() => exactMcNemar(-1, 2)).toThrow(RangeError);
    expect(() => exactMcNemar(0.5, 2)).toThrow(RangeError);
  });
});

describe('the smallest difference', () => {
  it('that a number of samples can show is the first that an exact test finds significant', () => {
    expect(smallestDetectableDifference(128)).toBe(4.6875);
    expect(smallestDetectableDifference(512)).toBe(1.171875);
    expect(smallestDetectableDifference(3)).toBe(100);
    fc.assert(
      fc.property(fc.integer({ min: 6, max: 5000 }), (samples) => {
        const disagreements = Math.round((smallestDetectableDifference(samples) / 100) * samples);
        expect(exactMcNemar(0, disagreements)).toBeLessThanOrEqual(0.05);
        expect(exactMcNemar(0, disagreements - 1)).toBeGreaterThan(0.05);
      }),
      { seed: SEED, numRuns: 200 }
    );
  });

  it('that is likely to be found shrinks with the root of the number of samples', () => {
    const few = Array.from({ length: 100 }, (_, at) => (at % 4 === 0 ? 1 : at % 4 === 1 ? -1 : 0));
    const many = Array.from({ length: 10_000 }, (_, at) => (at % 4 === 0 ? 1 : at % 4 === 1 ? -1 : 0));
    expect(smallestLikelyDifference(few) / smallestLikelyDifference(many)).toBeCloseTo(10, 1);
    // sqrt(0.5 · 100/99 / 100) · (1.959964 + 0.841621) · 100
    expect(smallestLikelyDifference(few)).toBeCloseTo(19.9099, 3);
  });
});

describe('the equivalence test', () => {
  it('is small when the difference is well within the margin, large when it is not', () => {
    const even = Array.from({ length: 5000 }, (_, at) => (at % 20 === 0 ? 1 : at % 20 === 1 ? -1 : 0));
    expect(tost(even, 0.03)).toBeLessThan(1e-9);
    expect(tost(even, 0.001)).toBeGreaterThan(0.05);
    expect(tost([0.1, 0.1], 0.03)).toBe(1);
    expect(tost([0, 0], 0.03)).toBe(0);
  });

  it('uses the normal tail', () => {
    expect(normalUpperTail(0)).toBe(0.5);
    expect(Math.abs(normalUpperTail(1.959963984540054) / 0.025 - 1)).toBeLessThan(1e-12);
    expect(Math.abs(normalUpperTail(6) / 9.865876450377012e-10 - 1)).toBeLessThan(1e-12);
    expect(normalUpperTail(-1) + normalUpperTail(1)).toBe(1);
  });
});

describe('statistics of paired scores', () => {
  it('leave the tests of right and wrong out for scores between', () => {
    expect(pairedStatistics([0.5, 1], [1, 1], null)).toMatchObject({
      samples: 2,
      difference_points: 25,
      only_first: null,
      mcnemar_p: null,
      equivalence_p: null,
      smallest_possible_points: null,
    });
  });

  it('refuse scores that are not paired', () => {
    expect(() => pairedStatistics([1], [1, 0], null)).toThrow(RangeError);
    expect(() => pairedStatistics([], [], null)).toThrow(RangeError);
  });
});
