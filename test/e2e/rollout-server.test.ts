import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createActivities } from '../../activities/index.js';
import type { StepRecord } from '../../activities/step-record.js';
import { LOGPROB_TOLERANCE } from '../../activities/spot-check.js';
import { liveEngines } from '../../scripts/chaos/engines.js';
import { readLease } from '../../engines/supervision/lease.js';
import type { Progress } from '../../shared/contracts/progress.js';
import type { StoredSummary } from '../../shared/evaluation/types.js';
import { entryPath, packageRoot } from '../../shared/runtime/entry.js';
import { until } from '../workflows/support.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { freshTag, quiet, serveActivities, start, temporaryRoot, tinyRecipe } from './support.js';

const LIMIT_MS = 180_000;
const SERVER = fileURLToPath(new URL('../fixtures/servers/rollout-server.mjs', import.meta.url));

let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  environment = await localEnvironment();
});
afterAll(() => environment.teardown());

describe('rollouts by a server of their own', () => {
  it(
    'get the actor’s weights at every step; a server that keeps old weights and one that is killed are replaced',
    async () => {
      const { root, remove } = await temporaryRoot();
      const tag = freshTag();
      const lie = join(root, 'lie');
      writeFileSync(lie, '');
      const activities = createActivities({ log: quiet, projectRoot: packageRoot() });
      const directory = join(root, 'served');
      const rolloutFolder = join(directory, '.engines/relax-train-rollout');
      let killed = false;
      const real = activities.rollout.generateRollouts;
      activities.rollout.generateRollouts = async (args) => {
        const lease = await readLease(rolloutFolder);
        if (args.phase === 'train' && args.step === 2 && !killed && lease !== undefined) {
          killed = true;
          const running = real(args);
          running.catch(() => undefined);
          // It was found healthy and is about to load the step's weights.
          await until(() => existsSync(join(rolloutFolder, 'weights/version-2')), 'the weights are written');
          process.kill(-lease.engine.pid, 'SIGKILL');
          return await running;
        }
        return await real(args);
      };
      const server = {
        engine: 'sglang',
        command: [process.execPath, SERVER],
        env: { LIE: lie, ENGINE_ENTRY: entryPath('engines/embedded/main.js') },
        startSeconds: 60,
      };
      const recipe = tinyRecipe(root, tag, {
        arms: { relax: { flavour: 'relax' } },
        grpo: { steps: 3, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4, weightDecay: 0, checkpointEvery: 3 },
        evaluation: { lengths: [2], items: 4, concurrency: 4, serverContext: 128 },
        rolloutServing: server,
        serving: { ...server, args: ['--stand-in'] },
      });
      try {
        await serveActivities(environment, tag, activities, async () => {
          const handle = await start(environment, recipe, 'served');
          await handle.result();
          const { attempts } = await handle.query<Progress>('progress');
          expect(attempts.map(({ stage, step, type }) => `${stage} ${step} ${type}`)).toEqual([
            // Step 0 trains on the base's weights, which the liar has: it is found out one step later.
            'smoke:relax 1 EngineUnavailable',
            'train:relax 2 EngineUnavailable',
          ]);
          expect(attempts[0]?.message).toMatch(
            /the rollout server’s log-probs differ from the actor’s by .* serves other weights/
          );
        });
        expect(existsSync(lie)).toBe(false);
        expect(killed).toBe(true);
        const steps = [0, 1, 2].map(
          (step) =>
            JSON.parse(readFileSync(join(directory, `arms/relax/train/step-00000${step}.json`), 'utf8')) as StepRecord
        );
        expect(steps.map((step) => step.weights_version)).toEqual([1, 2, 3]);
        for (const step of steps) expect(step.max_logprob_difference).toBeLessThan(LOGPROB_TOLERANCE);
        const launched = ['base', 'relax'].map(
          (model) =>
            (JSON.parse(readFileSync(join(directory, `eval/${model}/dev.summary.json`), 'utf8')) as StoredSummary)
              .server.launch
        );
        expect(launched[0]).toEqual({ engine: 'sglang', args: ['--stand-in'], env: server.env });
        expect(launched[1]).toEqual(launched[0]);
        expect(readFileSync(join(directory, 'report.html'), 'utf8')).toContain('Rollouts were sampled by sglang');
        expect(liveEngines(directory)).toEqual([]);
        expect(readdirSync(rolloutFolder).filter((name) => /json$|lock$|weights/.test(name))).toEqual([]);
      } finally {
        await remove();
      }
    },
    LIMIT_MS
  );
});
