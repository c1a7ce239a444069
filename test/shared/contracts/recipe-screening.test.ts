import { describe, expect, it } from 'vitest';
import type { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { parseRecipe } from '../../../shared/contracts/recipe-parse.js';
import { dependsOn, stageNames } from '../../../shared/contracts/stages.js';

function recipe(screening: Record<string, unknown>): Record<string, unknown> {
  return {
    name: 'screened',
    engine: 'embedded',
    model: { path: 'models/laptop' },
    data: { generate: {}, screening },
    arms: { relax: { flavour: 'relax' } },
  };
}

function problemsOf(screening: Record<string, unknown>): string[] {
  try {
    parseRecipe(recipe(screening), 'the test');
    return [];
  } catch (error) {
    return (error as PipelineError).details.problems ?? [];
  }
}

describe('a recipe with Pass@N screening', () => {
  it('names every setting that decides the choice, defaults included', () => {
    const { data } = parseRecipe(recipe({ train: 400 }), 'the test');
    expect(data.screening).toEqual({
      tries: 8,
      train: 400,
      heldOut: 0,
      minPasses: 1,
      maxPasses: 7,
      temperature: 1,
      topP: 1,
      seed: 0,
    });
  });

  it.each([
    ['no number of prompts', {}, /^data\.screening\.train/],
    ['a single try', { train: 4, tries: 1 }, /^data\.screening\.tries/],
    ['prompts that are always solved', { train: 4, maxPasses: 8 }, /maxPasses: expected less than tries \(8\)/],
    ['prompts that are never solved', { train: 4, minPasses: 0 }, /^data\.screening\.minPasses/],
    ['an empty range', { train: 4, minPasses: 5, maxPasses: 3 }, /minPasses: expected at most maxPasses \(3\)/],
    ['a range beyond the tries', { train: 4, tries: 4, minPasses: 4 }, /minPasses: expected at most maxPasses \(3\)/],
    [
      'too few candidates',
      { train: 4, heldOut: 2, candidates: 5 },
      /candidates: expected at least train \+ heldOut \(6\)/,
    ],
    ['an unknown setting', { train: 4, passes: 3 }, /passes/],
  ])('is refused with %s', (_, screening, message) => {
    expect(problemsOf(screening).join('\n')).toMatch(message);
  });

  it('may pause after the screening, which other recipes do not have', () => {
    const paused = { ...recipe({ train: 4 }), pauseAfter: 'screen' };
    expect(parseRecipe(paused, 'the test').pauseAfter).toEqual(['screen']);
    expect(() => parseRecipe({ ...paused, data: { generate: {} } }, 'the test')).toThrow(/no stage to pause after/);
  });
});

it('the screening stands between data and smoke gate, and everything that trains or is trained depends on it', () => {
  const names = stageNames(['relax'], true);
  expect(names.slice(1, 4)).toEqual(['data', 'screen', 'smoke:relax']);
  expect(names.filter((name) => dependsOn(name, 'screen'))).toEqual(names.slice(2));
  expect(dependsOn('screen', 'data')).toBe(true);
});
