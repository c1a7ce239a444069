import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RayJobsClient } from '../../engines/ray/jobs/client.js';
import { workerVictim } from '../../scripts/chaos/processes.js';
import type { Victim } from '../../scripts/chaos/victim.js';
import { verifyRun } from '../../shared/artifacts/verify.js';
import type { Progress } from '../../shared/contracts/progress.js';
import { localTarget } from '../../workers/temporal-target.js';
import { frameworkCheckouts, type Checkout } from '../helpers/framework-checkouts.js';
import { rayEnvironment, startRayHead, type RayHead } from '../helpers/ray-head.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { until } from '../workflows/support.js';
import { rayRecipe } from './ray-support.js';
import { freshTag, start, temporaryRoot, withRealWorkers } from './support.js';

const LIMIT_MS = 240_000;
const HEARTBEAT_SECONDS = 2;
/** Of the job whose worker is killed: enough to be still under way when the next worker comes. */
const STEPS = 60;
/** `PENDING_ACTIVITY_STATE_STARTED` of `temporal.api.enums.v1.PendingActivityState`. */
const STARTED = 2;
const ray = await rayEnvironment();
const missing = 'missing' in ray ? ray.missing : '';

let folder: Awaited<ReturnType<typeof temporaryRoot>>;
let checkouts: Record<'relax' | 'vime', Checkout>;
let head: RayHead;
let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  if ('missing' in ray) return;
  folder = await temporaryRoot();
  checkouts = await frameworkCheckouts(folder.root);
  [head, environment] = await Promise.all([startRayHead(ray.venv, 1), localEnvironment()]);
}, LIMIT_MS);
afterAll(async () => {
  await environment?.teardown();
  await head?.stop();
  await folder?.remove();
});

/** The recipe with one arm, whose jobs are followed by workers of another tag. */
function recipeFor(root: string, tag: string, trainTag: string): Record<string, unknown> {
  const recipe = rayRecipe(head, checkouts, root, tag, {
    env: { IMITATE_STEP_SECONDS: '0.2' },
    grpo: { steps: STEPS, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4, checkpointEvery: 20 },
    limits: { heartbeatSeconds: HEARTBEAT_SECONDS },
  });
  const { relax } = recipe['arms'] as Record<string, unknown>;
  return { ...recipe, arms: { relax }, placement: { ...(recipe['placement'] as object), train: trainTag } };
}

/** Freezes a worker; one that has nothing to do just then, between two slices, goes on: its kill would cost no attempt. */
async function heldAtWork(worker: Victim, { client }: TestWorkflowEnvironment, workflowId: string): Promise<boolean> {
  worker.pause();
  // What it sent until then arrives.
  await pause(200);
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  const works = (raw.pendingActivities ?? []).some(({ state }) => state === STARTED);
  if (!works) worker.resume();
  return works;
}

function storedLog(run: string): string {
  const log = join(run, 'arms/relax/job/train/attempt-001/log');
  return readdirSync(log)
    .sort()
    .map((name) => readFileSync(join(log, name), 'utf8'))
    .join('');
}

describe.skipIf(missing !== '')(
  `the pipeline on a real Ray cluster${missing === '' ? '' : ` (skipped: ${missing})`}`,
  () => {
    it(
      'trains both arms as jobs, one at a time, and goes on to verdict and report; every file can be verified',
      async () => {
        const { root, remove } = await temporaryRoot();
        const tag = freshTag();
        const client = await RayJobsClient.open({ address: head.address });
        try {
          const progress = await withRealWorkers(environment, tag, async () => {
            const handle = await start(environment, rayRecipe(head, checkouts, root, tag), 'on-ray');
            await handle.result();
            return await handle.query<Progress>('progress');
          });
          const directory = join(root, 'on-ray');
          expect(progress.attempts).toEqual([]);
          expect(progress.arms['relax']).toMatchObject({ phase: 'train', step: 4, lastCheckpointStep: 3 });
          expect(progress.verdict?.outcome).toMatch(/^(not-)?passed$/);
          for (const arm of ['relax', 'vime']) {
            const csv = readFileSync(join(directory, `arms/${arm}/reward.csv`), 'utf8')
              .trim()
              .split('\n');
            expect(csv.map((line) => line.split(',')[0])).toEqual(['step', '0', '1', '2', '3']);
            expect(existsSync(join(directory, `arms/${arm}/hf/config.json`))).toBe(true);
          }
          const jobs = (await client.list()).filter(({ metadata }) => metadata['memagent.run'] === 'on-ray');
          expect(jobs.map(({ status }) => status)).toEqual(['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED']);
          const times = jobs.map(({ startedAt = 0, endedAt = 0 }) => [startedAt, endedAt] as const).sort();
          times.slice(1).forEach(([began], at) => expect(began).toBeGreaterThanOrEqual(times[at]?.[1] ?? 0));
          const report = await verifyRun(directory);
          expect(report.checks.flatMap(({ problems }) => problems)).toEqual([]);
          // What a framework does not print is said, never taken for equal.
          const gate = JSON.parse(readFileSync(join(directory, 'arms/relax/smoke/gate.json'), 'utf8')) as object;
          expect(gate).toMatchObject({ passed: true, not_verifiable: ['generated_turns'] });
          const html = readFileSync(join(directory, 'report.html'), 'utf8');
          expect(html).toContain('the framework’s log does not print every count');
          for (const { submissionId } of jobs) expect(html).toContain(submissionId);
        } finally {
          await client.close();
          await remove();
        }
      },
      LIMIT_MS
    );

    it(
      'stops a job that does not get on, goes on from its checkpoint, and leaves no job when the run is cancelled',
      async () => {
        const { root, remove } = await temporaryRoot();
        const tag = freshTag();
        const client = await RayJobsClient.open({ address: head.address });
        const recipe = rayRecipe(head, checkouts, root, tag, {
          env: { IMITATE: 'hang-once@3', IMITATE_STEP_SECONDS: '0.1' },
          grpo: { steps: 400, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4, checkpointEvery: 2 },
        });
        Object.assign(recipe, {
          arms: { relax: (recipe['arms'] as Record<string, unknown>)['relax'] },
          cluster: { ...(recipe['cluster'] as object), startMinutes: 1, stepMinutes: 0.1 },
        });
        try {
          await withRealWorkers(environment, tag, async () => {
            const handle = await start(environment, recipe, 'stalls');
            const progress = (): Promise<Progress> => handle.query<Progress>('progress');
            await until(
              async () => ((await progress()).arms['relax']?.step ?? 0) > 6,
              'the second job got on',
              LIMIT_MS
            );
            const { attempts } = await progress();
            expect(attempts).toMatchObject([{ stage: 'train:relax', activity: 'runTrainingJob', type: 'Stalled' }]);
            const evidence = join(root, 'stalls/evidence/train-relax/stall-001.json');
            expect(JSON.parse(readFileSync(evidence, 'utf8'))).toMatchObject({ job: { status: 'RUNNING' } });
            await handle.cancel();
            await expect(handle.result()).rejects.toThrow();
          });
          const jobs = (await client.list()).filter(({ metadata }) => metadata['memagent.run'] === 'stalls');
          expect(jobs.map(({ status }) => status).sort()).toEqual(['STOPPED', 'STOPPED', 'SUCCEEDED']);
          expect(readdirSync(join(root, '.clusters'))).toEqual([]);
        } finally {
          await client.close();
          await remove();
        }
      },
      LIMIT_MS
    );

    it(
      'goes on after its worker was killed: the next one adopts the job, submits no second one, and no line of the log is lost or doubled',
      async () => {
        const { root, remove } = await temporaryRoot();
        const [tag, trainTag] = [freshTag(), freshTag()];
        const target = localTarget(environment.address, environment.namespace ?? 'default');
        const worker = workerVictim(['train'], { folder: root, tag: trainTag }, target);
        const client = await RayJobsClient.open({ address: head.address });
        worker.start();
        try {
          const { attempts } = await withRealWorkers(environment, tag, async () => {
            const handle = await start(environment, recipeFor(root, tag, trainTag), 'killed');
            const progress = (): Promise<Progress> => handle.query<Progress>('progress');
            const trains = ({ phase, step }: { phase: string; step: number }): boolean =>
              phase === 'train' && step >= 3;
            await until(
              async () => Object.values((await progress()).arms).some(trains),
              'the job is under way',
              LIMIT_MS
            );
            await until(() => heldAtWork(worker, environment, 'killed/train-relax'), 'it follows the job', LIMIT_MS);
            await worker.kill();
            worker.start();
            await handle.result();
            return await progress();
          });
          expect(attempts).toMatchObject([{ stage: 'train:relax', activity: 'runTrainingJob', type: 'HostLost' }]);
          const jobs = (await client.list()).filter(
            ({ metadata }) => metadata['memagent.run'] === 'killed' && metadata['memagent.phase'] === 'train'
          );
          expect(jobs.map(({ status }) => status)).toEqual(['SUCCEEDED']);
          expect(storedLog(join(root, 'killed'))).toBe(await client.logs(jobs[0]?.submissionId ?? ''));
        } finally {
          await worker.stop();
          await client.close();
          await remove();
        }
      },
      LIMIT_MS
    );
  }
);
