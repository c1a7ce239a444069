import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readTrajectories } from '../../shared/artifacts/trajectories-parquet.js';
import { verifyRun } from '../../shared/artifacts/verify.js';
import { packageRoot } from '../../shared/runtime/entry.js';
import { loadTokenizer } from '../../shared/tokenizer/tokenizer.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { freshTag, start, temporaryRoot, tinyRecipe, withRealWorkers } from './support.js';

const LIMIT_MS = 240_000;

let environment: TestWorkflowEnvironment;
let place: { root: string; remove(): Promise<void> };

beforeAll(async () => {
  environment = await localEnvironment();
  place = await temporaryRoot();
}, LIMIT_MS);
afterAll(async () => {
  await environment.teardown();
  await place.remove();
});

it(
  'an ablated run reads every chunk without a memory, says so, and its files are derived again with the same permutations',
  async () => {
    const tag = freshTag();
    await withRealWorkers(environment, tag, async () => {
      const recipe = tinyRecipe(place.root, tag, {
        arms: { relax: { flavour: 'relax' } },
        grpo: { steps: 2, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4 },
        evaluation: { lengths: [2], items: 4, concurrency: 4, serverContext: 128 },
        ablation: { shuffledAdvantages: true, emptyMemory: true },
      });
      await (await start(environment, recipe, 'ablated')).result();
    });
    const run = join(place.root, 'ablated');

    const tokenizer = await loadTokenizer(join(packageRoot(), 'models/laptop'));
    for (const { turns } of await readTrajectories(join(run, 'arms/relax/rollouts/step-000001.parquet'))) {
      const prompts = turns.map(({ tokens, responseLength }) => tokenizer.decode(tokens.slice(0, -responseLength)));
      expect(prompts.map((prompt) => prompt.includes('<memory>\nNo previous memory\n'))).toEqual([true, true, false]);
    }
    const summary = JSON.parse(await readFile(join(run, 'eval/base/eval_2.summary.json'), 'utf8')) as object;
    expect(summary).toMatchObject({ memory_emptied: true });
    const report = await readFile(join(run, 'report.html'), 'utf8');
    for (const name of ['shuffledAdvantages', 'emptyMemory']) expect(report).toContain(`Ablation <b>${name}</b>`);

    const { checks } = await verifyRun(run);
    expect(checks.flatMap(({ problems }) => problems)).toEqual([]);
  },
  LIMIT_MS
);
