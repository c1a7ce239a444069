import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { studyRuns, type RawRecipe, type StudyRun } from '../../scripts/study/plan.js';
import { recipeDifferences } from '../../shared/contracts/recipe-differences.js';
import { parseRecipe } from '../../shared/contracts/recipe-parse.js';
import { packageRoot } from '../../shared/runtime/entry.js';

const laptop = JSON.parse(readFileSync(join(packageRoot(), 'recipes/laptop.json'), 'utf8')) as RawRecipe;
const runs = studyRuns(laptop, { seeds: 5, steps: 100, items: 512, root: './runs' });
const named = (name: string): StudyRun => runs.find((run) => run.name === name) as StudyRun;
const plain = parseRecipe(laptop, 'laptop');

/** Fields in which a run's recipe differs from the laptop recipe, its name and words for people apart. */
const changed = (run: StudyRun): string[] =>
  recipeDifferences(plain, parseRecipe(run.recipe, run.name))
    .map(({ path }) => path)
    .filter((path) => path !== 'name' && path !== 'description');

describe('the study’s runs', () => {
  it('are good recipes with names of their own', () => {
    for (const run of runs) expect(parseRecipe(run.recipe, run.name).name).toBe(`study-${run.name}`);
    expect(new Set(runs.map(({ name }) => name)).size).toBe(runs.length);
  });

  it('begin with the laptop recipe as it is, and with other seeds of it', () => {
    expect(changed(named('seed-1234'))).toEqual([]);
    expect(changed(named('seed-1238'))).toEqual(['grpo.rolloutSeed', 'grpo.seed']);
    expect(runs.filter(({ kind }) => kind === 'seed').map(({ seed }) => seed)).toEqual([1234, 1235, 1236, 1237, 1238]);
  });

  it.each([
    ['shuffled', ['ablation', 'arms.vime']],
    ['no-memory', ['ablation', 'arms.vime']],
    ['share', ['arms.vime', 'grpo.credit']],
    ['kl-0', ['arms.vime', 'grpo.klCoefficient']],
    ['kl-1', ['arms.vime', 'grpo.klCoefficient']],
    ['seed-1234-greedy', ['evaluation.temperature']],
    ['pass-8', ['arms.vime', 'evaluation.devItems', 'evaluation.items', 'evaluation.samplesPerItem']],
  ])('%s changes %j and nothing else', (name, fields) => {
    expect(changed(named(name))).toEqual(fields);
  });

  it('evaluates greedily, and with several tries, what a run with an equal training has trained', () => {
    for (const name of ['seed-1234-greedy', 'pass-8']) {
      const [run, trained] = [named(name), named('seed-1234')].map(({ recipe }) => parseRecipe(recipe, name));
      expect(run?.grpo).toEqual(trained?.grpo);
      expect(run?.arms['relax']).toEqual(trained?.arms['relax']);
    }
  });

  it('freezes the base by its learning rate alone, on the same seed’s tasks', () => {
    const { grpo } = parseRecipe(named('seed-1236-frozen').recipe, 'frozen');
    expect(grpo).toEqual({ ...plain.grpo, seed: 1236, rolloutSeed: 44, steps: 20, learningRate: 1e-8 });
  });
});
