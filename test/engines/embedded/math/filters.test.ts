import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  argmax,
  candidateBuffer,
  drawCandidate,
  drawUnfiltered,
  filterCandidates,
} from '../../../../engines/embedded/sample/filters.js';
import { tokenUniform } from '../../../../engines/embedded/sample/random.js';

/** The rule as written: sort, top-k, softmax, top-p. */
function plain(logits: number[], exps: number[], topP: number, topK: number): number[] {
  const order = logits.map((_, id) => id).sort((a, b) => logits[b]! - logits[a]! || a - b);
  const first = topK > 0 ? order.slice(0, topK) : order;
  const total = first.reduce((sum, id) => sum + exps[id]!, 0);
  let before = 0;
  return first.filter((id, i) => {
    const keep = i === 0 || (exps[id]! > 0 && (topP >= 1 || before < topP * total));
    before += exps[id]!;
    return keep;
  });
}

describe('sampling filters', () => {
  it('keep what the rule keeps, for any logits, ties and impossible tokens', () => {
    const logit = fc.oneof(
      fc.integer({ min: -8, max: 8 }).map((n) => n / 2),
      fc.double({ min: -30, max: 30, noNaN: true }),
      fc.constant(-Infinity)
    );
    const vector = fc.array(logit, { minLength: 1, maxLength: 60 }).filter((list) => list.some(Number.isFinite));
    const topP = fc.constantFrom(0.01, 0.3, 0.5, 0.9, 0.999, 1);
    const topK = fc.constantFrom(-1, 1, 2, 7, 100);
    fc.assert(
      fc.property(vector, topP, topK, (values, p, k) => {
        const logits = Float32Array.from(values);
        const top = Math.max(...logits);
        const exps = logits.map((value) => Math.exp(value - top));
        const kept = candidateBuffer(values.length);
        filterCandidates(logits, 0, exps, 0, values.length, { temperature: 1, topP: p, topK: k }, kept);
        expect([...kept.ids.subarray(0, kept.count)]).toEqual(plain([...logits], [...exps], p, k));
      }),
      { numRuns: 2000, seed: 3 }
    );
  });

  it('take the lowest id of equal logits when greedy', () => {
    expect(argmax([1, 3, 2, 3], 0, 4)).toBe(1);
    const kept = candidateBuffer(4);
    const logits = Float32Array.of(1, 3, 2, 3);
    filterCandidates(logits, 0, logits, 0, 4, { temperature: 0, topP: 1, topK: -1 }, kept);
    expect([kept.ids[0], kept.count]).toEqual([1, 1]);
  });

  it('never draw a token of probability 0, at either end of the range', () => {
    const exps = Float32Array.of(0, 0.5, 0, 1, 0.5, 0);
    for (const uniform of [0, 0.2, 0.3, 0.7, 0.8, 1 - 2 ** -53])
      expect(exps[drawUnfiltered(exps, 0, 6, uniform)]).toBeGreaterThan(0);
    expect([0, 0.24, 0.25, 0.74, 0.75].map((u) => drawUnfiltered(exps, 0, 6, u))).toEqual([1, 1, 3, 3, 4]);
    const kept = candidateBuffer(6);
    filterCandidates(exps, 0, exps, 0, 6, { temperature: 1, topP: 1, topK: 2 }, kept);
    expect([0, 0.66, 0.67, 1 - 2 ** -53].map((u) => drawCandidate(kept, u))).toEqual([3, 3, 1, 1]);
  });
});

describe('the random number of a token', () => {
  const key = { seed: 42, rolloutId: 5, prompt: 3, sample: 2, turn: 1 };

  it('is the published Philox stream, so that it never changes between versions', () => {
    expect([0, 1, 2].map((position) => tokenUniform(key, position))).toMatchInlineSnapshot(`
      [
        0.4189139505481171,
        0.14331977767426063,
        0.3961867049312239,
      ]
    `);
  });

  it('differs when any part of the key differs, also where parts share a word', () => {
    const big = 2 ** 32;
    const others = [
      { ...key, seed: 43 },
      { ...key, seed: 42 + big },
      { ...key, rolloutId: 6 },
      { ...key, prompt: 4 },
      { ...key, sample: 3 },
      { ...key, turn: 2 },
      { ...key, sample: 1, turn: 2 },
      { ...key, prompt: 5, rolloutId: 3 },
    ];
    const draws = [key, ...others].flatMap((one) => [0, 1].map((position) => tokenUniform(one, position)));
    expect(new Set(draws).size).toBe(draws.length);
  });

  it('is spread evenly', () => {
    const bins = new Float64Array(20);
    for (let prompt = 0; prompt < 500; prompt += 1)
      for (let position = 0; position < 20; position += 1)
        bins[Math.floor(20 * tokenUniform({ ...key, prompt }, position))]! += 1;
    const chiSquare = bins.reduce((sum, count) => sum + (count - 500) ** 2 / 500, 0);
    expect(chiSquare).toBeLessThan(43.8); // 19 degrees of freedom, one in a thousand
  });
});
