import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aggregate, aggregateRelax, aggregateVime } from '../../../shared/scoring/aggregate.js';
import { boxedExactMatch, exactMatch, f1Score, scoreResponse, subExactMatch } from '../../../shared/scoring/metrics.js';

const SEED = 20_260_704;
const words = fc.array(fc.constantFrom('paris', 'new', 'york', 'the', 'a', '!', '中', 'x'), { maxLength: 6 });
const phrase = words.map((list) => list.join(' '));

describe('metrics of a prediction', () => {
  it('differ between relax and vime for texts that normalize to nothing', () => {
    expect(subExactMatch('', 'Paris')).toBe(0);
    expect(subExactMatch('', 'Paris', 'vime')).toBe(1);
    expect(f1Score('the', 'a')).toBe(1);
    expect(f1Score('the', 'a', 'vime')).toBe(0);
    expect(exactMatch('the', 'a')).toBe(1);
  });

  it('give the last bits of the reference', () => {
    expect(f1Score('x y z w', 'x y q')).toBe(0.5714285714285715);
    expect(f1Score('Michele Marie Bachmann is older.', 'Michele Marie Bachmann')).toBe(0.7499999999999999);
  });

  it('are symmetric, between 0 and 1, and 1 for equal answers', () => {
    fc.assert(
      fc.property(phrase, phrase, (a, b) => {
        expect(f1Score(a, b)).toBe(f1Score(b, a));
        expect(subExactMatch(a, b)).toBe(subExactMatch(b, a));
        expect(f1Score(a, b)).toBeGreaterThanOrEqual(0);
        expect(f1Score(a, b)).toBeLessThanOrEqual(1);
        expect(f1Score(a, a)).toBe(1);
        if (exactMatch(a, b) === 1) expect(f1Score(a, b)).toBe(1);
        if (exactMatch(a, b) === 1 && subExactMatch(a, a) === 1) expect(subExactMatch(a, b)).toBe(1);
      }),
      { seed: SEED, numRuns: 1000 }
    );
  });

  it('accept any answer for boxed EM and measure the others against the first', () => {
    expect(boxedExactMatch('', [''])).toBe(0);
    expect(scoreResponse('so \\boxed{NYC}', ['New York', 'NYC'])).toEqual({
      pred: 'NYC',
      judge_f1: 0,
      judge_em: 0,
      judge_sub_em: 0,
      judge_boxed_em: 1,
    });
  });
});

describe('aggregation', () => {
  const sample = (score: number, error?: string) => ({
    judge_f1: score,
    judge_em: score,
    judge_sub_em: score,
    judge_boxed_em: score,
    ...(error === undefined ? {} : { error }),
  });

  it('counts a failed sample as zero in the full total', () => {
    expect(aggregate([sample(1), sample(1, 'HTTP 500'), sample(1, ''), sample(0)])).toMatchObject({
      total: 4,
      successful: 3,
      errors: 1,
      sub_em: 0.5,
      sub_em_pct: 50,
    });
  });

  it('adds from left to right, so that the last bits are the reference’s', () => {
    expect(aggregate(new Array(10).fill(sample(0.1))).f1).toBe(0.09999999999999999);
    expect(aggregate([]).f1).toBe(0);
  });

  it('reads records as the references read JSON', () => {
    const record = (f1: string | number | null) => new Map([['judge_f1', f1]]);
    expect(aggregateRelax([record('0.5'), record(1)]).f1).toBe(0.75);
    expect(() => aggregateRelax([record(null)])).toThrow("not 'NoneType'");
    expect(() => aggregateVime([record('0.5')])).toThrow("unsupported operand type(s) for +=: 'float' and 'str'");
    expect(() => aggregateVime([new Map()])).toThrow('judge_f1');
  });

  it('rounds vime’s means half to even', () => {
    const records = Array.from({ length: 32 }, (_, at) => {
      const score = at === 0 ? 1 : 0;
      return new Map([
        ['judge_f1', score],
        ['judge_em', score],
        ['judge_sub_em', score],
      ]);
    });
    expect(aggregateVime(records)).toEqual({ f1: 0.0312, em: 0.0312, sub_em: 0.0312, total: 32 });
  });
});
