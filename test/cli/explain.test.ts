import { mkdtemp, mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isForced, writeForcedStages, writeStageKey } from '../../shared/artifacts/stage-keys.js';
import { memagent } from './support.js';

let root: string;
const run = (name: string): string => join(root, name);
const parts = (learningRate: number): Record<string, unknown> => ({
  stage: 'train',
  code: '1.1.1.1',
  grpo: { learningRate, steps: 4 },
  arm: { flavour: 'relax' },
});

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'memagent-explain-'));
  await mkdir(run('empty'));
  for (const [name, rate] of [
    ['first', 0.0002],
    ['second', 0.0003],
  ] as const) {
    const taken = name === 'second' ? { reusedFrom: 'first' } : {};
    await writeStageKey(run(name), { stage: 'data', key: 'd'.repeat(64), parts: { seed: 7 }, ...taken });
    await writeStageKey(run(name), { stage: 'train:relax', key: String(rate).padEnd(64, '0'), parts: parts(rate) });
  }
});
afterAll(() => rm(root, { recursive: true }));

describe('memagent explain', () => {
  it('says of every stage whether it was made or taken over, and from which run', async () => {
    const { code, out } = await memagent(['explain', run('second')]);
    expect(code).toBe(0);
    expect(out).toBe('data: taken over from first, key dddddddddddd\ntrain:relax: made by this run, key 0.0003000000');
  });

  it('prints every part of one stage’s key', async () => {
    const { out } = await memagent(['explain', run('first'), 'train:relax']);
    expect(out).toContain('\n  arm.flavour = "relax"\n  code = "1.1.1.1"\n  grpo.learningRate = 0.0002\n');
  });

  it('names the part that differs from another run, and says when none does', async () => {
    const { out } = await memagent(['explain', run('second'), '--against', run('first')]);
    expect(out).toContain(`every part is equal to ${run('first')}’s: the result is taken over`);
    expect(out).toContain(`  grpo.learningRate: 0.0003 here, 0.0002 in ${run('first')}`);
    expect(out).not.toContain('grpo.steps');
  });

  it('refuses a stage that is not there, and a run that has come to none', async () => {
    const wrong = await memagent(['explain', run('first'), 'train:relx']);
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.err).toContain('did you mean “train:relax”?');
    const empty = await memagent(['explain', run('empty')]);
    expect(empty.code).toBe(1);
    expect(empty.err).toContain('has come to no stage');
  });
});

describe('stages that are made anew', () => {
  it('are those that were named, alone or by their kind', async () => {
    await writeForcedStages(run('forced'), ['train:relax', 'evaluate']);
    const asked = ['data', 'train:relax', 'train:vime', 'evaluate:base/dev'];
    expect(await Promise.all(asked.map((stage) => isForced(run('forced'), stage)))).toEqual([false, true, false, true]);
    expect(await isForced(run('first'), 'data')).toBe(false);
  });

  it('are refused by start for a stage that no run has, and without a run to start from', async () => {
    const wrong = await memagent(['start', '--from', run('empty'), '--from-stage', 'trian']);
    expect(wrong.code).not.toBe(0);
    const both = await memagent(['start', 'recipe.json', '--from', run('first')]);
    expect(both).toMatchObject({ code: 2 });
    expect(both.err).toContain('give a recipe file, or --from with a run');
  });
});
