import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createActivities } from '../../activities/index.js';
import { artifactHashes } from '../../scripts/chaos/artifact-hashes.js';
import { liveEngines } from '../../scripts/chaos/engines.js';
import { tiniestRecipe } from '../../scripts/long/tiny-recipe.js';
import type { Progress } from '../../shared/contracts/progress.js';
import { activityTaskQueue } from '../../shared/contracts/queues.js';
import { packageRoot } from '../../shared/runtime/entry.js';
import { budgetConverter } from '../helpers/payload-budget.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { until } from '../workflows/support.js';
import { freshTag, quiet, start, temporaryRoot, withRealWorkers } from './support.js';

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

/** One more worker of role rollout, there from the first step of a training run until its second. */
async function comeAndGo(tag: string, progress: () => Promise<Progress>): Promise<void> {
  const taskQueue = activityTaskQueue('rollout', tag);
  const { rollout } = createActivities({ log: quiet, projectRoot: packageRoot() });
  const worker = await Worker.create({
    connection: environment.nativeConnection,
    namespace: environment.namespace ?? 'default',
    taskQueue,
    activities: rollout,
    dataConverter: budgetConverter,
    shutdownGraceTime: '1s',
  });
  const running = worker.run();
  try {
    await until(async () => ((await progress()).arms['relax']?.step ?? 0) >= 1, 'the first step');
  } finally {
    worker.shutdown();
    await running;
  }
}

describe('pipelines that share one set of workers', () => {
  it(
    'each come to the bytes they have when run alone, while a worker joins and leaves',
    async () => {
      const tag = freshTag();
      await withRealWorkers(environment, tag, async () => {
        for (const seed of SEEDS) await run(tag, 'alone', seed);
        await Promise.all(
          SEEDS.map((seed, index) =>
            run(tag, 'together', seed, index === 0 ? (progress) => comeAndGo(tag, progress) : undefined)
          )
        );
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
