import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { createActivities, type ActivitiesByRole } from '../../activities/index.js';
import type { Progress } from '../../shared/contracts/progress.js';
import { Victim } from '../../scripts/chaos/processes.js';
import { entryPath, packageRoot } from '../../shared/runtime/entry.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { freshTag, quiet, serveActivities, start, temporaryRoot, tinyRecipe } from '../e2e/support.js';
import { until } from '../workflows/support.js';
import { fault, record } from './record.js';

/**
 * Not a test of its own: with UPDATE_HISTORIES=1 (`make record-histories`) it runs small laptop pipelines with the real
 * activities and writes their histories, which replay.test.ts then holds the workflow code against.
 */
describe.runIf(process.env['UPDATE_HISTORIES'] === '1')('recording histories', () => {
  let environment: TestWorkflowEnvironment;
  beforeAll(async () => {
    environment = await localEnvironment();
  });
  afterAll(() => environment.teardown());

  async function scenario(
    name: string,
    changes: Record<string, unknown>,
    arrange: (activities: ActivitiesByRole) => void,
    act: (handle: WorkflowHandle) => Promise<void>
  ): Promise<void> {
    const { root, remove } = await temporaryRoot();
    const tag = freshTag();
    const activities = createActivities({ log: quiet, projectRoot: packageRoot() });
    arrange(activities);
    try {
      await serveActivities(environment, tag, activities, async () => {
        const recipe = tinyRecipe(root, tag, { arms: { relax: { flavour: 'relax' } }, ...changes });
        const handle = await start(environment, recipe, `history-${name}`);
        await act(handle);
        await record(environment, name, handle);
      });
    } finally {
      await remove();
    }
  }

  const nothing = (): void => undefined;
  const finished = async (handle: WorkflowHandle): Promise<void> => {
    await handle.result();
  };
  const failed = async (handle: WorkflowHandle): Promise<void> => {
    await handle.result().catch(() => undefined);
  };

  it('happy', () => scenario('happy', {}, nothing, finished));

  it('two arms', () => scenario('two-arms', { arms: { relax: { flavour: 'relax' }, vime: { flavour: 'vime' } } }, nothing, finished));

  it('continue as new', () =>
    scenario('continue-as-new', { limits: { heartbeatSeconds: 2, continueAsNewEvery: 2 } }, nothing, finished));

  it('generation failure retried', () => {
    let left = 2;
    return scenario(
      'generation-retried',
      {},
      ({ rollout }) => {
        const real = rollout.generateRollouts;
        rollout.generateRollouts = async (args) => {
          if (args.phase === 'train' && args.step === 1 && left-- > 0) throw fault('GenerationFailed', false);
          return await real(args);
        };
      },
      finished
    );
  });

  it('conversion failure halted and decided', () => {
    let left = 1;
    return scenario(
      'conversion-halted',
      { onHalt: 'wait' },
      ({ data }) => {
        const real = data.convertRollouts;
        data.convertRollouts = async (args) => {
          if (args.phase === 'train' && args.step === 1 && left-- > 0) throw fault('ConversionFailed', true);
          return await real(args);
        };
      },
      async (handle) => {
        await until(async () => (await handle.query<Progress>('progress')).state === 'halted', 'the pipeline is halted', 120_000);
        await handle.executeUpdate('decide', { args: [{ action: 'retry' }] });
        await handle.result();
      }
    );
  });

  it('row count mismatch fails', () =>
    scenario(
      'rows-lost',
      {},
      ({ train }) => {
        const real = train.trainStep;
        train.trainStep = async (args) => {
          const result = await real(args);
          return args.phase === 'train' && args.step === 1 ? { ...result, consumedRows: result.consumedRows - 1 } : result;
        };
      },
      failed
    ));

  it('worker killed', async () => {
    const { root, remove } = await temporaryRoot();
    const tag = freshTag();
    const args = [entryPath('cli/main.js'), 'worker', '--role', 'all', '--tag', tag];
    const env = { ...process.env, TEMPORAL_ADDRESS: environment.address, TEMPORAL_NAMESPACE: 'default' };
    const worker = new Victim('worker', process.execPath, args, env, join(root, 'worker.log'));
    worker.start();
    try {
      const handle = await start(environment, tinyRecipe(root, tag, { arms: { relax: { flavour: 'relax' } } }), 'history-worker-killed');
      const step = async (): Promise<number> => {
        const arm = (await handle.query<Progress>('progress').catch(() => undefined))?.arms['relax'];
        return arm?.phase === 'train' ? arm.step : -1;
      };
      await until(async () => (await step()) >= 1, 'training runs', 120_000);
      await worker.kill();
      worker.start();
      await handle.result();
      await record(environment, 'worker-killed', handle);
    } finally {
      await worker.stop();
      await remove();
    }
  });

  it('cancelled', () =>
    scenario('cancelled', { grpo: { steps: 200, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4, checkpointEvery: 50 } }, nothing, async (handle) => {
      await until(async () => ((await handle.query<Progress>('progress')).arms['relax']?.phase ?? '') === 'train', 'training runs', 120_000);
      await handle.cancel();
      await failed(handle);
    }));
});
