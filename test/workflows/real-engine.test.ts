import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/activity';
import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createActivities, type ActivitiesByRole } from '../../activities/index.js';
import { artifactHashes } from '../../scripts/chaos/artifact-hashes.js';
import { EngineProxy } from '../../scripts/chaos/engine-proxy.js';
import { enginesOf, liveEngines } from '../../scripts/chaos/engines.js';
import type { Progress } from '../../shared/contracts/progress.js';
import { packageRoot } from '../../shared/runtime/entry.js';
import { isAlive, type ProcessIdentity } from '../../shared/runtime/process-identity.js';
import { freshTag, quiet, serveActivities, start, temporaryRoot, tinyRecipe } from '../e2e/support.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { until } from './support.js';

const LIMIT_MS = 240_000;

let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  environment = await localEnvironment();
});
afterAll(() => environment.teardown());

interface Run {
  handle: WorkflowHandle;
  directory: string;
  progress(): Promise<Progress>;
}

/** A one-arm laptop run with real engines; `arrange` may put something in the way of an activity. */
async function run(
  id: string,
  changes: Record<string, unknown>,
  body: (run: Run) => Promise<void>,
  arrange: (activities: ActivitiesByRole, directory: string) => void = () => undefined
): Promise<void> {
  const { root, remove } = await temporaryRoot();
  const tag = freshTag();
  const activities = createActivities({ log: quiet, projectRoot: packageRoot() });
  arrange(activities, join(root, id));
  const recipe = tinyRecipe(root, tag, {
    arms: { relax: { flavour: 'relax' } },
    grpo: { steps: 2, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4, checkpointEvery: 1 },
    evaluation: { lengths: [2], items: 4, concurrency: 4, serverContext: 128 },
    ...changes,
  });
  try {
    await serveActivities(environment, tag, activities, async () => {
      const handle = await start(environment, recipe, id);
      await body({ handle, directory: join(root, id), progress: () => handle.query<Progress>('progress') });
    });
  } finally {
    await remove();
  }
}

/**
 * SIGSTOP for an engine that runs, at the moment when it is asked something: it answers nothing from then on and does not hear
 * SIGTERM. (One that is stopped before it is asked is replaced without further ado.)
 */
async function freezeWhenAsked(
  directory: string,
  name: string,
  path: string,
  onFrozen: () => void = () => undefined
): Promise<ProcessIdentity> {
  const engine = enginesOf(directory).find(({ folder }) => folder.endsWith(`/${name}`));
  const identity = engine!.lease.engine;
  const proxy = await EngineProxy.between(engine!);
  proxies.push(proxy!);
  proxy!.before(path, () => {
    frozenEngines.add(identity);
    process.kill(identity.pid, 'SIGSTOP');
    onFrozen();
  });
  return identity;
}

/** The arm's actor, asked for an optimizer step of the full run. */
function freezeWhenItTrains(directory: string): Promise<ProcessIdentity> {
  return freezeWhenAsked(directory, 'relax-train', '/actor/train_step');
}

const proxies: EngineProxy[] = [];
afterEach(() => proxies.splice(0).forEach((proxy) => proxy.close()));

/** A test that fails must not leave a stopped process behind: such a one hears nothing, not even its owner's end. */
const frozenEngines = new Set<ProcessIdentity>();
afterEach(() => {
  for (const engine of frozenEngines) if (isAlive(engine)) process.kill(engine.pid, 'SIGKILL');
  frozenEngines.clear();
});

/** What a run must not leave behind, whatever its end. */
function leftovers(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return [
    ...liveEngines(directory).map(({ pid }) => `engine ${pid}`),
    ...names.filter((name) => /engine\.(json|lock)$|\.partial-/.test(name)),
  ];
}

describe('an engine that stands still', () => {
  it(
    'is noticed by the step that does not end, put on record and replaced; the run has the bytes of a calm one',
    async () => {
      let frozen = false;
      const calm: Record<string, string> = {};
      await run('calm', {}, async ({ handle, directory }) => {
        await handle.result();
        Object.assign(calm, artifactHashes(directory));
      });
      await run(
        'stalled',
        { watchdog: { limits: { train: 3 }, firstStepFactor: 1 }, limits: { heartbeatSeconds: 10 } },
        async ({ handle, directory, progress }) => {
          await handle.result();
          const { attempts } = await progress();
          expect(attempts).toMatchObject([{ stage: 'train:relax', step: 1, type: 'Stalled', phase: 'train' }]);
          const evidence = JSON.parse(readFileSync(join(directory, 'evidence/train-relax/stall-001.json'), 'utf8')) as {
            processes: { state: string; threads: object[] }[];
            engineLog: string[];
            health: object;
            gpus: object;
          };
          expect(evidence.processes[0]?.state).toBe('T');
          expect(evidence.processes[0]?.threads.length).toBeGreaterThan(1);
          expect(evidence.engineLog.join('\n')).toContain('engine ready');
          expect(evidence.health).toHaveProperty('notSeen');
          expect(evidence.gpus).toBeDefined();
          const { 'evidence/train-relax/stall-001.json': _, ...rest } = artifactHashes(directory);
          expect(rest).toEqual(calm);
          expect(leftovers(directory)).toEqual([]);
        },
        ({ train }, directory) => {
          const real = train.trainStep;
          train.trainStep = async (args) => {
            if (args.phase === 'train' && args.step === 1 && !frozen) {
              frozen = true;
              await freezeWhenItTrains(directory);
            }
            return await real(args);
          };
        }
      );
    },
    LIMIT_MS
  );

  it(
    'is only told about in mode “observe”, and the work goes on',
    async () => {
      let frozen: ProcessIdentity | undefined;
      await run(
        'observed',
        { watchdog: { mode: 'observe', limits: { train: 2 }, firstStepFactor: 1 }, limits: { heartbeatSeconds: 10 } },
        async ({ handle, progress }) => {
          await until(async () => (await progress()).warnings !== undefined, 'the stall was told', LIMIT_MS);
          process.kill(frozen!.pid, 'SIGCONT');
          await handle.result();
          const { attempts, warnings } = await progress();
          expect(attempts).toEqual([]);
          expect(warnings?.[0]).toMatch(
            /^train-relax: no progress in phase train for .* evidence is in .*stall-001\.json$/
          );
        },
        ({ train }, directory) => {
          const real = train.trainStep;
          train.trainStep = async (args) => {
            if (args.phase === 'train' && args.step === 1) frozen ??= await freezeWhenItTrains(directory);
            return await real(args);
          };
        }
      );
    },
    LIMIT_MS
  );
});

describe('an engine that asks for more memory than there can be', () => {
  it(
    'ends with OutOfMemory, and starts with the smaller settings of the recipe',
    async () => {
      const changes = {
        grpo: { steps: 1, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4, rolloutConcurrency: 100_000 },
        oomFallback: { rolloutConcurrency: 8 },
      };
      await run('oom', changes, async ({ handle, directory, progress }) => {
        await handle.result();
        const { attempts, fallbacks } = await progress();
        expect(attempts.map(({ stage, type }) => `${stage} ${type}`)).toEqual([
          'smoke:relax OutOfMemory',
          'train:relax OutOfMemory',
        ]);
        expect(fallbacks?.map(({ stage, settings }) => ({ stage, ...settings }))).toEqual([
          { stage: 'smoke:relax', rolloutConcurrency: 8 },
          { stage: 'train:relax', rolloutConcurrency: 8 },
        ]);
        expect(readFileSync(join(directory, 'report.html'), 'utf8')).toMatch(
          /ran out of memory and went on with smaller/
        );
      });
    },
    LIMIT_MS
  );
});

describe('beginning again at a stage', () => {
  it(
    'trains anew and keeps what it replaced; an equal result makes the rest of the chain reuse its files',
    async () => {
      await run('anew', { pauseAfter: 'evaluate' }, async ({ handle, directory, progress }) => {
        const paused = async (): Promise<boolean> => (await progress()).state === 'paused';
        await until(paused, 'the run is paused', LIMIT_MS);
        const before = artifactHashes(directory);
        const decide = (decision: object): Promise<string> => handle.executeUpdate('decide', { args: [decision] });
        await decide({ action: 'retryFromStage', stage: 'train:relax' });
        await until(paused, 'the run is paused again', LIMIT_MS);
        expect(readdirSync(join(directory, '.discarded'))).toEqual(['train-relax-1']);
        expect(existsSync(join(directory, '.discarded/train-relax-1/arms/relax/train/step-000001.json'))).toBe(true);
        expect(artifactHashes(directory)).toEqual(before);
        const states = Object.fromEntries((await progress()).stages.map(({ name, state }) => [name, state]));
        expect(states).toMatchObject({ 'train:relax': 'done', 'convert:relax': 'reused', evaluate: 'reused' });
        await decide({ action: 'continue' });
        await handle.result();
      });
    },
    LIMIT_MS
  );
});

describe('a cancelled run', () => {
  type Hold = (engine: string, path: string) => Promise<void>;
  /** Each at a call that meets an engine which an earlier one has started. */
  const moments: Record<string, (activities: ActivitiesByRole, hold: Hold) => void> = {
    generate: ({ rollout }, hold) => {
      const real = rollout.generateRollouts;
      rollout.generateRollouts = async (args) => {
        if (args.step === 1) await hold('relax-smoke', '/generate');
        return await real(args);
      };
    },
    train: ({ train }, hold) => {
      const real = train.trainStep;
      train.trainStep = async (args) => {
        await hold('relax-smoke', '/actor/train_step');
        return await real(args);
      };
    },
    evaluate: ({ evaluate }, hold) => {
      const real = evaluate.evaluateModel;
      evaluate.evaluateModel = async (args) => {
        if (args.model === 'base' && args.dataset !== 'dev') await hold('serve-base', '/generate');
        return await real(args);
      };
    },
  };

  it.each(Object.keys(moments))(
    'leaves no engine, lease or unfinished file when its engine hangs in the middle of “%s”',
    async (moment) => {
      let asked = false;
      let held = false;
      await run(
        `cancel-${moment}`,
        {},
        async ({ handle, directory, progress }) => {
          await until(() => held, 'the engine is held', LIMIT_MS);
          await handle.cancel();
          await expect(handle.result()).rejects.toThrow();
          expect((await progress()).state).toBe('cancelled');
          expect(leftovers(directory)).toEqual([]);
        },
        (activities, directory) =>
          moments[moment]?.(activities, async (engine, path) => {
            if (asked) return;
            asked = true;
            await freezeWhenAsked(directory, engine, path, () => (held = true));
          })
      );
    },
    LIMIT_MS
  );

  it(
    'that was halted leaves nothing either',
    async () => {
      await run(
        'cancel-halted',
        { onHalt: 'wait' },
        async ({ handle, directory, progress }) => {
          await until(async () => (await progress()).state === 'halted', 'the run is halted', LIMIT_MS);
          await handle.cancel();
          await expect(handle.result()).rejects.toThrow();
          expect((await progress()).state).toBe('cancelled');
          expect(leftovers(directory)).toEqual([]);
        },
        ({ data }) => {
          data.convertRollouts = () =>
            Promise.reject(ApplicationFailure.nonRetryable('on purpose', 'ConversionFailed'));
        }
      );
    },
    LIMIT_MS
  );
});
