import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { enginesOf } from '../../scripts/chaos/engines.js';
import { workerVictim } from '../../scripts/chaos/processes.js';
import { WORKER_SHUTDOWN } from '../../shared/contracts/activities.js';
import type { Progress } from '../../shared/contracts/progress.js';
import { localTarget } from '../../workers/temporal-target.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { until } from '../workflows/support.js';
import { freshTag, start, temporaryRoot, tinyRecipe, withRealWorkers } from './support.js';

const LIMIT_MS = 240_000;

let environment: TestWorkflowEnvironment;
beforeAll(async () => void (environment = await localEnvironment()), LIMIT_MS);
afterAll(async () => environment.teardown());

it(
  'a worker that is asked to end says that its engines go down with it, and the run goes on with the next one without spending a budget',
  async () => {
    const { root, remove } = await temporaryRoot();
    const [tag, engineTag] = [freshTag(), freshTag()];
    const target = localTarget(environment.address, environment.namespace ?? 'default');
    const worker = workerVictim(['rollout', 'train'], { folder: root, tag: engineTag }, target);
    const recipe = tinyRecipe(root, tag, {
      grpo: { steps: 12, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4, weightDecay: 0, checkpointEvery: 4 },
    });
    Object.assign(recipe['placement'] as object, { rollout: engineTag, train: engineTag });
    const run = join(root, 'deploy');
    worker.start();
    try {
      await withRealWorkers(environment, tag, async () => {
        const handle = await start(environment, recipe, 'deploy');
        const progress = (): Promise<Progress> => handle.query<Progress>('progress');
        await until(
          async () => Object.values((await progress()).arms).some(({ phase, step }) => phase === 'train' && step >= 2),
          'an arm is under way',
          LIMIT_MS
        );
        const engines = enginesOf(run);
        expect(engines.map(({ lease }) => lease.owner.pid)).toContain(worker.pid);
        await worker.stop();
        for (const { folder, lease } of engines) {
          const note = JSON.parse(readFileSync(join(folder, 'handed-back.json'), 'utf8')) as unknown;
          expect(note).toEqual({ engine: lease.engine, owner: lease.owner });
        }
        expect(enginesOf(run)).toEqual([]);
        worker.start();
        await handle.result();
        const { attempts } = await progress();
        expect(attempts.filter(({ type }) => type !== WORKER_SHUTDOWN)).toEqual([]);
      });
    } finally {
      await worker.stop();
      await remove();
    }
  },
  LIMIT_MS
);
