import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editDistance, nearestName } from '../../../shared/contracts/nearest-name.js';

describe('editDistance', () => {
  it('counts insertions, deletions, replacements and swaps', () => {
    expect(editDistance('', 'abc')).toBe(3);
    expect(editDistance('kitten', 'sitting')).toBe(3);
    expect(editDistance('form', 'from')).toBe(1);
  });

  it('is symmetric, zero only for equal texts, and at most the longer length', () => {
    const text = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(text, text, (a, b) => {
        const distance = editDistance(a, b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
      { seed: 1 }
    );
  });
});

describe('nearestName', () => {
  const known = ['learningRate', 'steps', 'groupSize', 'clip'];
  it('finds what was meant, also in another habit of writing', () => {
    expect(nearestName('learning_rate', known)).toBe('learningRate');
    expect(nearestName('GROUP-SIZE', known)).toBe('groupSize');
    expect(nearestName('stpes', known)).toBe('steps');
    expect(nearestName('training', ['data', 'train'])).toBe('train');
    expect(nearestName('eval', ['data', 'evaluate'])).toBe('evaluate');
    expect(nearestName('steps', ['stepsTotal', 'steps'])).toBe('steps');
  });

  it('suggests nothing for a name that resembles none', () => {
    expect(nearestName('temperature', known)).toBeUndefined();
    expect(nearestName('x'.repeat(1_000_000), known)).toBeUndefined();
  });
});
