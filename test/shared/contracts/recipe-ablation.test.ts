import { describe, expect, it } from 'vitest';
import { parseRecipe, recipeHash } from '../../../shared/contracts/recipe-parse.js';

const LAPTOP = {
  name: 'test',
  engine: 'embedded',
  model: { path: 'models/laptop' },
  data: { generate: {} },
  arms: { relax: { flavour: 'relax' } },
};
const parse = (changes: Record<string, unknown>) => parseRecipe({ ...LAPTOP, ...changes }, 'test');

describe('the recipe’s ablation', () => {
  it('is absent unless it is asked for, so that other recipes keep their hash', () => {
    expect(parse({})).not.toHaveProperty('ablation');
    expect(recipeHash(parse({ ablation: { emptyMemory: true } }))).not.toBe(recipeHash(parse({})));
  });

  it('has every switch in the normalized recipe', () => {
    expect(parse({ ablation: { emptyMemory: true } }).ablation).toEqual({
      emptyMemory: true,
      shuffledAdvantages: false,
    });
  });

  it.each([
    [{ ablation: {} }, 'ablation: takes nothing away; leave it out or set one to true'],
    [{ ablation: { emptyMemory: false } }, 'ablation: takes nothing away; leave it out or set one to true'],
    [{ engine: 'ray', ablation: { emptyMemory: true } }, 'ablation: only with engine “embedded”'],
    [{ ablation: { shuffledAdvantage: true } }, 'shuffledAdvantage'],
    [{ ablation: 'emptyMemory' }, 'ablation'],
  ])('refuses %j', (changes, sentence) => {
    expect(() => parse(changes)).toThrow(sentence);
  });
});
