import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createActivities } from '../../activities/index.js';
import { Victim } from '../../scripts/chaos/processes.js';
import type { Progress } from '../../shared/contracts/progress.js';
import { entryPath, packageRoot } from '../../shared/runtime/entry.js';
import { freshTag, quiet, serveActivities, start, temporaryRoot, tinyRecipe } from '../e2e/support.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { startPipeline, until, withWorkers } from '../workflows/support.js';
import { record } from './record.js';
import { SCENARIOS } from './scenarios.js';

const LIMIT_MS = 600_000;

/**
 * Not a test of its own: with UPDATE_HISTORIES=1 (`make record-histories`) it runs pipelines on a real server and writes their
 * histories, which replay.test.ts then holds the workflow code against.
 */
describe.runIf(process.env['UPDATE_HISTORIES'] === '1')('recording histories', () => {
  let environment: TestWorkflowEnvironment;
  beforeAll(async () => {
    environment = await localEnvironment();
  });
  afterAll(() => environment.teardown());

  it.each(Object.entries(SCENARIOS))(
    '%s',
    async (name, scenario) => {
      const books = scenario.books();
      await withWorkers(environment, books, async () => {
        const handle = await startPipeline(environment, books, `history-${name}`);
        await scenario.act(handle, books);
        await record(environment, name, handle, scenario.children);
      });
    },
    LIMIT_MS
  );

  it(
    'two arms, with real engines',
    async () => {
      const { root, remove } = await temporaryRoot();
      const tag = freshTag();
      try {
        await serveActivities(environment, tag, createActivities({ log: quiet, projectRoot: packageRoot() }), async () => {
          const handle = await start(environment, tinyRecipe(root, tag), 'history-two-arms');
          await handle.result();
          await record(environment, 'two-arms', handle);
        });
      } finally {
        await remove();
      }
    },
    LIMIT_MS
  );

  it(
    'worker killed, with real engines',
    async () => {
      const { root, remove } = await temporaryRoot();
      const tag = freshTag();
      const args = [entryPath('cli/main.js'), 'worker', '--role', 'all', '--tag', tag];
      const env = { ...process.env, TEMPORAL_ADDRESS: environment.address, TEMPORAL_NAMESPACE: 'default' };
      const worker = new Victim('worker', process.execPath, args, env, join(root, 'worker.log'));
      worker.start();
      try {
        const recipe = tinyRecipe(root, tag, { arms: { relax: { flavour: 'relax' } } });
        const handle = await start(environment, recipe, 'history-worker-killed');
        const step = async (): Promise<number> => {
          const arm = (await handle.query<Progress>('progress').catch(() => undefined))?.arms['relax'];
          return arm?.phase === 'train' ? arm.step : -1;
        };
        await until(async () => (await step()) >= 1, 'training runs', 240_000);
        await worker.kill();
        worker.start();
        await handle.result();
        await record(environment, 'worker-killed', handle);
      } finally {
        await worker.stop();
        await remove();
      }
    },
    LIMIT_MS
  );
});
