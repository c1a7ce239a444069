import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pyJsonLoads } from '../../../shared/data/python/json-loads.js';
import type { PyDict } from '../../../shared/data/python/value.js';
import {
  compareBaseline,
  comparePair,
  CONTROLLED_FIELDS,
  summaryValues,
  validateCompatibleSummaries,
} from '../../../shared/scoring/compare.js';
import { pyEquals } from '../../../shared/scoring/python-equality.js';
import { evaluation } from './evaluations.js';

const summary = (changes: Record<string, unknown> = {}): PyDict => {
  const whole = { ...evaluation(10, 5).summary, ...changes };
  return pyJsonLoads(JSON.stringify(whole)) as PyDict;
};

describe('comparable summaries', () => {
  it('agree on every controlled field', () => {
    expect(validateCompatibleSummaries([summary(), summary({ model: 'other', extra: 1 })])).toEqual([]);
    for (const field of CONTROLLED_FIELDS) {
      const [reason] = validateCompatibleSummaries([summary(), summary({ [field]: 'something else' })]);
      expect(reason).toBeDefined();
    }
  });

  it('are refused with every reason, in the reference’s order', () => {
    const broken = summary({ temperature: 0.8, seed: undefined, errors: 1, max_chunks: 63 });
    broken.delete('seed');
    const kinds = validateCompatibleSummaries([summary(), broken]).map(({ kind, field }) => [kind, field]);
    expect(kinds).toEqual([
      ['incomplete', undefined],
      ['mismatch', 'temperature'],
      ['missing_compatibility_field', 'seed'],
      ['mismatch', 'max_chunks'],
    ]);
  });

  it('keep the reference’s texts, with Python’s values', () => {
    const messages = validateCompatibleSummaries([summary({ temperature: 1 }), summary({ temperature: '1' })]);
    expect(messages.map(({ error }) => error.message)).toEqual([
      "Evaluation summaries differ on controlled field 'temperature': [1, '1']",
    ]);
    const [few] = validateCompatibleSummaries([summary()]);
    expect(few?.kind).toBe('too_few');
    const [total] = validateCompatibleSummaries([summary({ total: null }), summary()]);
    expect(total?.error).toMatchObject({ type: 'TypeError' });
  });
});

describe('the two rules', () => {
  const percent = (value: unknown) => summary({ sub_em_pct: value });

  it('compare percentages as they are reported, without rounding', () => {
    expect(comparePair(percent(13.1), percent(16.1), 'sub_em_pct', 3)).toMatchObject({
      gapPoints: 3.0000000000000018,
      passed: false,
    });
    expect(comparePair(percent(64.2), percent(67.2), 'sub_em_pct', 3).passed).toBe(true);
    expect(comparePair(percent('60.5'), percent(61), 'sub_em_pct', 3).gapPoints).toBe(0.5);
    expect(compareBaseline(percent(40), percent(40), 'sub_em_pct').passed).toBe(false);
    expect(compareBaseline(percent(0.3), percent(0.30000000000000004), 'sub_em_pct').passed).toBe(true);
  });

  it('fail on a metric that is missing or no number', () => {
    expect(() => comparePair(percent(1), percent(undefined), 'sub_em_pct', 3)).toThrow(
      "Metric 'sub_em_pct' must exist in both summaries."
    );
    expect(() => compareBaseline(percent(null), percent(1), 'sub_em_pct')).toThrow("not 'NoneType'");
  });

  it('are symmetric in the gap', () => {
    const value = fc.double({ min: 0, max: 100, noNaN: true });
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(comparePair(percent(a), percent(b), 'sub_em_pct', 3).gapPoints).toBe(
          comparePair(percent(b), percent(a), 'sub_em_pct', 3).gapPoints
        );
      }),
      { seed: 20_260_707, numRuns: 200 }
    );
  });
});

describe('Python equality', () => {
  it('compares numbers and booleans by value and nothing else across types', () => {
    expect(pyEquals(1n, 1)).toBe(true);
    expect(pyEquals(true, 1)).toBe(true);
    expect(pyEquals(2n ** 53n + 1n, 2 ** 53)).toBe(false);
    expect(pyEquals('1', 1n)).toBe(false);
    expect(pyEquals(Number.NaN, Number.NaN)).toBe(false);
    expect(pyEquals(null, 0n)).toBe(false);
    expect(pyEquals([1n, new Map([['a', 1]])], [true, new Map([['a', 1n]])])).toBe(true);
    expect(pyEquals(new Map([['a', 1]]), new Map([['b', 1]]))).toBe(false);
  });

  it('reads a typed summary as Python would read its file', () => {
    const { summary: typed } = evaluation(10, 5);
    expect(summaryValues(typed).get('total')).toBe(10n);
    expect(summaryValues(typed).get('temperature')).toBe(0.7);
    expect(summaryValues(typed).get('seed')).toBe(0n);
  });
});
