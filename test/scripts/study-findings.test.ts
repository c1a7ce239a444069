import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseHTML } from 'linkedom';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ablationCurves, evaluationLines, seedCurves } from '../../scripts/study/charts.js';
import { studyChecks, type StudyFacts } from '../../scripts/study/checks.js';
import { learningDocument, type Findings } from '../../scripts/study/document.js';
import type { StudyRun } from '../../scripts/study/plan.js';
import { groupTries, readResult, type ArmResult, type RunResult } from '../../scripts/study/results.js';
import { buildRun, type BuiltRun } from '../fixtures/run-builder/build-run.js';

const run = (name: string, change = 'another seed'): StudyRun => {
  const kind = change === 'another seed' ? 'seed' : 'ablation';
  return { name, kind, seed: 1234, change, recipe: {} };
};

/** An arm that learned as the goals ask. */
function learned(changes: Partial<ArmResult> = {}): ArmResult {
  const rewards = Array.from({ length: 30 }, (_, step) => 0.2 + step * 0.025);
  const comparisons = [4, 8, 16].map((length) => {
    return { length, items: 512, base: 0.1, trained: 0.9, interval: { low: 0.7, high: 0.85 } };
  });
  const last = { kl: 0.1, largestKl: 0.2, entropy: 0.05, unended: 0.001 };
  return { arm: 'relax', rewards, first: 0.3, last: 0.9, ...last, comparisons, ...changes };
}

const result = (name: string, arm: ArmResult, change?: string): RunResult => ({ run: run(name, change), arms: [arm] });

const floor = [4, 8, 16].map((length) => ({ length, items: 512, base: 0.9 / length, trained: 1 / length }));

function facts(changes: Partial<StudyFacts> = {}): StudyFacts {
  return {
    seeds: [result('seed-1234', learned())],
    greedy: [result('seed-1234-greedy', learned())],
    ablations: [
      result('shuffled', learned({ last: 0.27 }), 'advantages shuffled within groups'),
      result('no-memory', learned({ comparisons: floor }), 'memory emptied every turn'),
    ],
    shuffled: [result('shuffled', learned({ last: 0.27 }), 'advantages shuffled within groups')],
    frozen: new Map([[1234, 0.25]]),
    ...changes,
  };
}

const unmet = (changes: Partial<StudyFacts>): string[] =>
  studyChecks(facts(changes))
    .filter(({ met }) => !met)
    .map(({ goal }) => goal);

const few = [{ length: 4, items: 512, base: 0.3, trained: 0.48, interval: { low: -0.01, high: 0.3 } }];

describe('the goals', () => {
  it('are all met by arms that learned and ablations that did not', () => {
    expect(studyChecks(facts())).toHaveLength(10);
    expect(unmet({})).toEqual([]);
  });

  it.each<[string, Partial<StudyFacts>, string[]]>([
    ['a small gain of reward', { seeds: [result('s', learned({ last: 0.6 }))] }, ['reward of the last ten steps']],
    ['responses without end', { seeds: [result('s', learned({ unended: 0.02 }))] }, ['responses that do not end']],
    ['a policy far from the base', { seeds: [result('s', learned({ kl: 0.6 }))] }, ['KL at the end']],
    [
      'a small gain in evaluation whose interval has zero in it',
      { seeds: [result('s', learned({ comparisons: few }))] },
      ['sampled evaluation', '… and every paired interval'],
    ],
    ['a small greedy gain', { greedy: [result('g', learned({ comparisons: few }))] }, ['greedy evaluation']],
    [
      'gains where there can be none',
      {
        shuffled: [0.2, 0.5].map((last) => result('shuffled', learned({ last }), 'advantages shuffled within groups')),
        ablations: [result('no-memory', learned(), 'memory emptied every turn')],
      },
      ['advantages shuffled', 'memory emptied, 4', 'memory emptied, 8', 'memory emptied, 16'],
    ],
  ])('notice %s', (_, changes, goals) => {
    const found = unmet(changes);
    expect(found).toHaveLength(goals.length);
    for (const [at, goal] of goals.entries()) expect(found[at]).toContain(goal);
  });

  it('are left out where nothing was run, instead of being met by nothing', () => {
    expect(studyChecks({ seeds: [], greedy: [], ablations: [], shuffled: [], frozen: new Map() })).toEqual([]);
  });
});

describe('the document', () => {
  const findings: Findings = {
    ...facts(),
    tries: [{ model: 'base', length: 4, items: 128, one: 0.3, any: 0.75 }],
    groups: { prompts: 160, any: 0.7 },
    steps: 100,
    missing: ['kl-1'],
    pictures: new Set(['learning-seeds.svg']),
  };

  it('has every seed, ablation and missing run, and only pictures that were drawn', () => {
    const text = learningDocument(findings);
    expect(text).toContain('| 1234 | relax | 0.250 | 0.300 | 0.900 | 0.100 |');
    expect(text).toContain('10.0 → 90.0 (+70.0 … +85.0)');
    expect(text).toContain('| advantages shuffled within groups |');
    expect(text).toContain('| base | 4 chunks, evaluation sampling | 128 | 30.0\u00a0% | 75.0\u00a0% |');
    expect(text).toContain('not in these tables: kl-1.');
    expect(text.match(/\]\(learning-[a-z]+\.svg\)/g)).toEqual(['](learning-seeds.svg)']);
    expect(text).not.toContain('NaN');
  });

  it('has pictures that are whole SVG files with a label and no style sheet of a page', () => {
    const { seeds, greedy, ablations } = findings;
    const pictures = [
      seedCurves(seeds, 0.25),
      evaluationLines(seeds, greedy),
      ablationCurves(ablations, learned().rewards, 0.25),
    ];
    for (const picture of pictures) {
      const root = parseHTML(picture).document.querySelector('svg');
      expect(root?.getAttribute('xmlns')).toBe('http://www.w3.org/2000/svg');
      expect(root?.getAttribute('aria-label')?.length).toBeGreaterThan(20);
      expect(root?.querySelectorAll('path').length).toBeGreaterThan(0);
      expect(picture).not.toContain('var(--');
      // An attribute that is there twice makes a browser refuse the file.
      const names = [...(/^<svg ([^>]*)>/.exec(picture)?.[1] ?? '').matchAll(/([\w-]+)="/g)].map(([, name]) => name);
      expect(new Set(names).size).toBe(names.length);
    }
  });
});

describe('results', () => {
  let root: string;
  let built: BuiltRun;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'memagent-study-'));
    built = await buildRun({ root, steps: 12, items: 24, lengths: [2, 3] });
  });
  afterAll(async () => {
    await rm(root, { recursive: true, force: true });
  });

  it('come from the files of a finished run: windows of ten steps, and each length with the verdict’s interval', async () => {
    const { arms } = await readResult(run('seed-1234'), built.directory);
    expect(arms.map(({ arm }) => arm)).toEqual(['relax', 'vime']);
    const relax = arms[0] as ArmResult;
    expect(relax.rewards).toHaveLength(12);
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    expect(relax.first).toBeCloseTo(sum(relax.rewards.slice(0, 10)) / 10, 12);
    expect(relax.last).toBeCloseTo(sum(relax.rewards.slice(2)) / 10, 12);
    expect(relax.comparisons.map(({ length, items }) => [length, items])).toEqual([
      [2, 24],
      [3, 24],
    ]);
    for (const { base, trained, interval } of relax.comparisons) {
      expect(interval?.low).toBeLessThanOrEqual(trained - base);
      expect(interval?.high).toBeGreaterThanOrEqual(trained - base);
    }
  });

  it('count the prompts that any trajectory of the group solved', async () => {
    const { prompts, any } = await groupTries(built.directory, 'relax');
    expect(prompts).toBe(12 * built.recipe.grpo.promptsPerStep);
    expect(any).toBeGreaterThan(0);
    expect(any).toBeLessThanOrEqual(1);
  });
});
