import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { selectPrompts, successHistogram, type ScreenedPrompt } from '../../../shared/data/screening.js';

const prompts = (...successes: number[]): ScreenedPrompt[] =>
  successes.map((count, item) => ({ item, successes: count, sha256: `text ${item}` }));

describe('Pass@N screening', () => {
  it('keeps prompts with a success and a failure, those in the middle first', () => {
    expect(selectPrompts(prompts(0, 1, 8, 7, 2, 6, 4), { samples: 8, train: 4, heldOut: 1 })).toEqual({
      train: [1, 4, 5, 6],
      heldOut: [3],
      usable: 5,
      preferred: 3,
      repeated: 0,
    });
  });

  it('fails when fewer are usable than wanted, and says how many', () => {
    expect(() => selectPrompts(prompts(0, 8, 3), { samples: 8, train: 1, heldOut: 1 })).toThrow(
      '1 of 3 prompts have both a success and a failure in 8 tries; 2 are wanted'
    );
  });

  it('never puts one text into two splits', () => {
    const twins = prompts(4, 4, 4).map((prompt) => ({
      ...prompt,
      sha256: prompt.item === 2 ? 'text 0' : prompt.sha256,
    }));
    const wish = { samples: 8, train: 1, heldOut: 1 };
    expect(selectPrompts(twins, wish)).toMatchObject({ train: [0], heldOut: [1], repeated: 1 });
    expect(() => selectPrompts(twins, { ...wish, heldOut: 2 })).toThrow('3 are wanted');
  });

  it('gives disjoint, sorted splits of the wanted size, whatever the order of the tries', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 60 }), (successes) => {
        const all = prompts(...successes);
        const usable = successes.filter((count) => count > 0 && count < 8).length;
        const wish = { samples: 8, train: Math.floor(usable / 2), heldOut: usable - Math.floor(usable / 2) };
        const { train, heldOut } = selectPrompts(all, wish);
        expect(selectPrompts([...all].reverse(), wish)).toEqual(selectPrompts(all, wish));
        expect(new Set([...train, ...heldOut]).size).toBe(usable);
        expect([train, heldOut]).toEqual([[...train].sort((a, b) => a - b), [...heldOut].sort((a, b) => a - b)]);
      }),
      { seed: 5 }
    );
  });

  it('counts prompts by their successes', () => {
    expect(successHistogram(prompts(0, 2, 2, 1), 2)).toEqual([1, 1, 2]);
  });
});
