import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { artifactHashes } from '../../scripts/chaos/artifact-hashes.js';
import { liveEngines } from '../../scripts/chaos/engines.js';
import { workerVictim } from '../../scripts/chaos/processes.js';
import { tiniestRecipe } from '../../scripts/long/tiny-recipe.js';
import type { Progress } from '../../shared/contracts/progress.js';
import { localTarget } from '../../workers/temporal-target.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { until } from '../workflows/support.js';
import { freshTag, start, temporaryRoot, withRealWorkers } from './support.js';

const LIMIT_MS = 240_000;
const SEEDS = [1, 2, 3];
const STEPS = 3;

let environment: TestWorkflowEnvironment;
let folder: { root: string; remove(): Promise<void> };

beforeAll(async () => {
  environment = await localEnvironment();
  folder = await temporaryRoot();
}, LIMIT_MS);

afterAll(async () => {
  await environment.teardown();
  await folder.remove();
});

/** Runs the pipeline of a seed in a root of its own, so that nothing is taken over from another. */
async function run(
  tag: string,
  how: string,
  seed: number,
  meanwhile?: (progress: () => Promise<Progress>) => Promise<void>
): Promise<void> {
  const id = `${how}-${seed}`;
  const tiniest = tiniestRecipe(join(folder.root, id), STEPS, seed, tag);
  // Enough groups that in some of them the samples differ: otherwise nothing is trained, which is an error.
  const recipe = { ...tiniest, grpo: { ...(tiniest['grpo'] as object), promptsPerStep: 4, groupSize: 4 } };
  const handle = await start(environment, recipe, id);
  await meanwhile?.(() => handle.query<Progress>('progress'));
  await handle.result();
}

function hashes(how: string, seed: number): Record<string, string> {
  const id = `${how}-${seed}`;
  return artifactHashes(join(folder.root, id, id));
}

/** One more worker process of role rollout, from the start of a run until its first step is done. */
async function comeAndGo(tag: string, progress: () => Promise<Progress>): Promise<void> {
  const target = localTarget(environment.address, environment.namespace ?? 'default');
  const worker = workerVictim(['rollout'], { folder: folder.root, tag }, target);
  worker.start();
  try {
    await worker.untilItSays('worker started');
    await until(async () => ((await progress()).arms['relax']?.step ?? 0) >= 1, 'the first step', LIMIT_MS);
  } finally {
    await worker.stop();
  }
}

describe('pipelines that share one set of workers', () => {
  it(
    'each come to the bytes they have when run alone, while a worker joins and leaves',
    async () => {
      const tag = freshTag();
      await withRealWorkers(environment, tag, async () => {
        for (const seed of SEEDS) await run(tag, 'alone', seed);
        // All are waited for, also when one fails: nothing may go on behind the test's back.
        const ends = await Promise.allSettled(
          SEEDS.map((seed, index) =>
            run(tag, 'together', seed, index === 0 ? (progress) => comeAndGo(tag, progress) : undefined)
          )
        );
        expect(ends.map(({ status }) => status)).toEqual(SEEDS.map(() => 'fulfilled'));
      });
      for (const seed of SEEDS) expect(hashes('together', seed)).toEqual(hashes('alone', seed));
      expect(hashes('alone', 1)['arms/relax/reward.csv']).toBeDefined();
      expect(hashes('alone', 1)['arms/relax/rollouts/step-000000.parquet']).not.toBe(
        hashes('alone', 2)['arms/relax/rollouts/step-000000.parquet']
      );
      for (const seed of SEEDS)
        expect(liveEngines(join(folder.root, `together-${seed}`, `together-${seed}`))).toEqual([]);
    },
    LIMIT_MS
  );
});
