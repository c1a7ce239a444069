import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readStageKeys } from '../../shared/artifacts/stage-keys.js';
import { verifyRun } from '../../shared/artifacts/verify.js';
import type { Progress } from '../../shared/contracts/progress.js';
import type { ScreeningManifest } from '../../shared/evaluation/screen-splits.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { freshTag, start, temporaryRoot, tinyRecipe, withRealWorkers } from './support.js';

const LIMIT_MS = 240_000;
const SCREENING = { tries: 4, train: 4, heldOut: 1 };

let environment: TestWorkflowEnvironment;
let place: { root: string; remove(): Promise<void> };
beforeAll(async () => {
  environment = await localEnvironment();
  place = await temporaryRoot();
  await run('screened', SCREENING);
}, LIMIT_MS);
afterAll(async () => {
  await environment.teardown();
  await place.remove();
});

/** One arm, two steps, real engine; the training prompts are chosen first. */
async function run(id: string, screening: object): Promise<Progress> {
  const tag = freshTag();
  return await withRealWorkers(environment, tag, async () => {
    const recipe = tinyRecipe(place.root, tag, {
      data: { generate: { seed: 7, trainItems: 24, devItems: 4, trainChunks: 2, factsPerChunk: 8 }, screening },
      arms: { relax: { flavour: 'relax' } },
      grpo: { steps: 2, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4, weightDecay: 0 },
      evaluation: { lengths: [2], items: 4, concurrency: 4, serverContext: 128 },
    });
    const handle = await start(environment, recipe, id);
    await handle.result();
    return await handle.query<Progress>('progress');
  });
}

const linesOf = (id: string, file: string): string[] =>
  readFileSync(join(place.root, id, file), 'utf8')
    .split('\n')
    .slice(0, -1);

describe('a laptop run with Pass@N screening', () => {
  it('keeps prompts that the base model solved sometimes, in two disjoint splits that are counted in a manifest', () => {
    const manifest = JSON.parse(linesOf('screened', 'screening/screening.json').join('\n')) as ScreeningManifest;
    expect(manifest).toMatchObject({ candidates: 24, passes: { min: 1, max: 3 } });
    expect(manifest.prompts_by_successes.reduce((sum, prompts) => sum + prompts, 0)).toBe(24);
    const { train, heldOut } = manifest.splits;
    expect([train.items.length, heldOut.items.length]).toEqual([4, 1]);
    for (const { successes } of [...train.items, ...heldOut.items]) expect([1, 2, 3]).toContain(successes);
    const rows = linesOf('screened', 'data/train.jsonl');
    const tries = linesOf('screened', 'screening/tries.jsonl').map(
      (line) => JSON.parse(line) as { item: number; judge_boxed_em: number }
    );
    expect(tries).toHaveLength(24 * 4);
    for (const [file, items] of [
      ['screening/train.jsonl', train.items],
      ['screening/heldout.jsonl', heldOut.items],
    ] as const) {
      expect(linesOf('screened', file)).toEqual(items.map(({ item }) => rows[item]));
      for (const { item, successes } of items)
        expect(tries.filter((each) => each.item === item && each.judge_boxed_em === 1)).toHaveLength(successes);
    }
  });

  it('trains on the chosen prompts alone, which the off-line check derives again', async () => {
    const { checks } = await verifyRun(join(place.root, 'screened'));
    expect(checks.flatMap(({ problems }) => problems)).toEqual([]);
    expect(checks.find(({ name }) => name === 'screening')?.checked).toBe(24 * 4 + 4 + 1);
    const [rollouts] = JSON.parse(
      readFileSync(join(place.root, 'screened', '.meta/arms/relax/rollouts/step-000000.parquet.json'), 'utf8')
    ).inputs as { path: string }[];
    expect(rollouts?.path).toBe('screening/train.jsonl');
  });

  it('says in the report how the prompts were chosen and that they are no unbiased set', () => {
    const report = linesOf('screened', 'report.html').join('\n');
    expect(report).toContain('Choice of the training prompts');
    expect(report).toContain('never an unbiased metric');
    expect(report).toMatch(/Bar chart of right tries by prompt: \d+ prompts with 0/);
  });

  it(
    'takes an equal screening over, and makes another range anew from the same data',
    async () => {
      const stateOf = ({ stages }: Progress, name: string): unknown =>
        stages.find((stage) => stage.name === name)?.state;
      const again = await run('again', SCREENING);
      expect(['data', 'screen', 'train:relax'].map((name) => stateOf(again, name))).toEqual(Array(3).fill('reused'));
      const narrower = await run('narrower', { ...SCREENING, train: 3 });
      expect(['data', 'screen', 'train:relax'].map((name) => stateOf(narrower, name))).toEqual([
        'reused',
        'done',
        'done',
      ]);
      const keys = await readStageKeys(join(place.root, 'narrower'));
      expect(keys.find(({ stage }) => stage === 'screen')?.parts).toMatchObject({ screening: { train: 3 } });
    },
    LIMIT_MS
  );
});
