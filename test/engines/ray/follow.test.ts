import { mkdtemp, readdir, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readLineage, writeLineage } from '../../../engines/ray/follow/lineage.js';
import type { FollowHooks, JobReport, TrainingPlan } from '../../../engines/ray/follow/plan.js';
import { TrainingJob } from '../../../engines/ray/follow/training-job.js';
import type { SliceBounds } from '../../../engines/ray/follow/slice-result.js';
import { readSeries } from '../../../engines/ray/follow/step-series.js';
import { RayJobsClient } from '../../../engines/ray/jobs/client.js';
import { CouldNotLook } from '../../../engines/ray/jobs/errors.js';
import { launchSpec } from '../../../engines/ray/launch/launch-spec.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { rayEnvironment, startRayHead, type RayHead } from '../../helpers/ray-head.js';
import { factsIn, tinyRecipe, TRAJECTORIES, writeTrainData } from './support.js';

const LIMIT_MS = 120_000;
const ray = await rayEnvironment();
const missing = 'missing' in ray ? ray.missing : '';

let head: RayHead;
let client: RayJobsClient;
beforeAll(async () => {
  if ('missing' in ray) return;
  head = await startRayHead(ray.venv);
  client = await RayJobsClient.open({ address: head.address });
}, LIMIT_MS);
afterAll(async () => {
  await client?.close();
  await head?.stop();
});

const folders: string[] = [];
const jobs: TrainingJob[] = [];
afterEach(async () => {
  for (const job of jobs.splice(0)) await job.stop(false, hooks()).catch(() => job.close());
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

function hooks(changes: Partial<FollowHooks> = {}): FollowHooks {
  return {
    signal: new AbortController().signal,
    report: () => undefined,
    fence: async () => undefined,
    patienceMs: 60_000,
    ...changes,
  };
}

async function plan(id: string, totalSteps: number, env: Record<string, string> = {}): Promise<TrainingPlan> {
  const root = await mkdtemp(join(tmpdir(), 'memagent-follow-'));
  folders.push(root);
  await writeTrainData(join(root, 'train.jsonl'));
  const recipe = await tinyRecipe(totalSteps, env);
  const { cluster } = recipe;
  if (cluster !== undefined) cluster.python = head.python;
  const facts = factsIn(root, totalSteps);
  return {
    pipelineId: id,
    arm: 'relax',
    phase: 'train',
    totalSteps,
    flavour: 'relax',
    trajectories: TRAJECTORIES,
    root,
    folder: join(root, 'job'),
    checkpoints: facts.saveDir,
    spec: (resume) => launchSpec(recipe, 'relax', 'train', { ...facts, resume }),
  };
}

/** A follower as a new worker has it. */
function follower(of: TrainingPlan): TrainingJob {
  const job = new TrainingJob(of, client);
  jobs.push(job);
  return job;
}

async function storedLog(of: TrainingPlan, attempt = 1): Promise<string> {
  const folder = join(of.folder, `attempt-00${attempt}`, 'log');
  const names = (await readdir(folder)).sort();
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('');
}

const ALL = { fromStep: 0, untilStep: 1_000_000 };

async function failureOf(job: TrainingJob, bounds: SliceBounds): Promise<PipelineError> {
  const error: unknown = await job.follow(bounds, hooks()).catch((reason: unknown) => reason);
  if (error instanceof PipelineError) return error;
  throw new Error('the job did not fail as the failure table has it', { cause: error });
}

describe.skipIf(missing !== '')(
  `a training job on a real Ray head${missing === '' ? '' : ` (skipped: ${missing})`}`,
  () => {
    it(
      'is adopted by the next worker, with one submission and a log without lost or doubled lines',
      async () => {
        const own = await plan('adopted', 8, { IMITATE_STEP_SECONDS: '0.4' });
        const first = follower(own);
        const died = new AbortController();
        const seen: JobReport[] = [];
        const report = (progress: JobReport): void => {
          seen.push(progress);
          if (progress.step >= 2) died.abort(new Error('the worker died'));
        };
        await expect(first.follow(ALL, hooks({ signal: died.signal, report }))).rejects.toThrow('the worker died');
        await first.close();
        // A write that did not get through to its end, in the middle of a line.
        const torn = join(own.folder, 'attempt-001', 'log', '000000.log');
        await truncate(torn, (await readFile(torn)).byteLength - 7);
        const [second, third] = await Promise.all([
          follower(own).follow(ALL, hooks()),
          // One that was given up, and does not know it yet, follows along.
          follower(own).follow(ALL, hooks()),
        ]);
        expect(second).toMatchObject({ steps: 8, finished: true, rewardsFrom: 0 });
        expect(third).toEqual(second);
        const { attempts } = await readLineage(join(own.folder, 'lineage.json'));
        expect(attempts).toMatchObject([{ number: 1, confirmed: true, end: { status: 'SUCCEEDED' } }]);
        const ours = (await client.list()).filter(({ metadata }) => metadata['memagent.run'] === 'adopted');
        expect(ours).toHaveLength(1);
        expect(await storedLog(own)).toBe(await client.logs(ours[0]?.submissionId ?? ''));
        // Asked again, the finished run answers from disk.
        expect(await follower(own).follow(ALL, hooks())).toEqual(second);
      },
      LIMIT_MS
    );

    it(
      'is given in slices, and waits while another run has the cluster',
      async () => {
        const [one, other] = [await plan('one', 5, { IMITATE_STEP_SECONDS: '1.5' }), await plan('other', 2)];
        const job = follower(one);
        const slice = await job.follow({ fromStep: 0, untilStep: 2 }, hooks());
        expect(slice).toMatchObject({ finished: false, rewardsFrom: 0 });
        expect(slice.rewards.length).toBe(slice.steps);
        const waiting = await follower(other).follow(ALL, hooks());
        expect(waiting).toMatchObject({ finished: false, waitingFor: `job ${slice.submissionId}` });
        const neighbour = { ...other, root: one.root };
        expect((await follower(neighbour).follow(ALL, hooks())).waitingFor).toBe('the train run of relax in one');
        const { submissionId } = slice;
        const rest = await job.follow({ fromStep: slice.steps, untilStep: 5, submissionId }, hooks());
        expect(rest).toMatchObject({ steps: 5, finished: true, rewardsFrom: slice.steps, checkpointStep: 4 });
        await job.stop(false, hooks());
        expect(await follower(neighbour).follow(ALL, hooks())).toMatchObject({ steps: 2, finished: true });
      },
      LIMIT_MS
    );

    it(
      'goes on from the newest complete checkpoint after a failure, past a torn one, and counts each step once',
      async () => {
        const own = await plan('torn', 6, { IMITATE: 'torn-checkpoint-once@3' });
        const job = follower(own);
        await expect(job.follow(ALL, hooks())).rejects.toMatchObject({ name: 'PipelineError' });
        // Nothing ended since: this failure was heard.
        const result = await job.follow({ ...ALL, unheardSince: Date.now() }, hooks());
        expect(result).toMatchObject({ steps: 6, finished: true });
        const { attempts } = await readLineage(join(own.folder, 'lineage.json'));
        expect(attempts.map(({ firstStep, end }) => [firstStep, end?.status])).toEqual([
          [0, 'FAILED'],
          [2, 'SUCCEEDED'],
        ]);
        const series = await readSeries(join(own.folder, 'steps.jsonl'));
        expect(series.map(({ step, attempt }) => [step, attempt])).toEqual([
          [0, 1],
          [1, 1],
          [2, 2],
          [3, 2],
          [4, 2],
          [5, 2],
        ]);
      },
      LIMIT_MS
    );

    it.each([
      ['exit-zero@1', 'CheckpointInvalid', 'ended well by its own account'],
      ['missing-reward@1', 'CheckpointInvalid', 'reward of step 1'],
      ['conflicting-reward@1', 'DataInvalid', 'two values'],
    ])(
      'that does “%s” ends as %s',
      async (misbehaviour, type, says) => {
        const own = await plan(misbehaviour.replace('@', '-'), 3, { IMITATE: misbehaviour });
        const unheardSince = Date.now();
        const told = await failureOf(follower(own), ALL);
        expect(told).toMatchObject({ type, message: expect.stringContaining(says) as string });
        // The one that found out was given up before it could say so: the next one says it, and begins no other job.
        const again = await failureOf(follower(own), { ...ALL, unheardSince });
        expect([again.type, again.message, again.details]).toEqual([told.type, told.message, told.details]);
        expect((await readLineage(join(own.folder, 'lineage.json'))).attempts).toHaveLength(1);
      },
      LIMIT_MS
    );

    it(
      'that could not be stopped at once is stopped by the next one, which says why',
      async () => {
        const own = await plan('stop-refused', 30, { IMITATE: 'nan-loss@1', IMITATE_STEP_SECONDS: '0.4' });
        const refusing = new Proxy(client, {
          get: (target, name) => {
            if (name === 'stop') return () => Promise.reject(new CouldNotLook('the head', 'no answer'));
            const member: unknown = Reflect.get(target, name);
            return typeof member === 'function' ? (member.bind(target) as unknown) : member;
          },
        });
        const first = new TrainingJob(own, refusing);
        await expect(first.follow(ALL, hooks({ patienceMs: 0 }))).rejects.toThrow('the head: no answer');
        await first.close();
        expect(await failureOf(follower(own), ALL)).toMatchObject({ type: 'NonFiniteLoss' });
        const { attempts } = await readLineage(join(own.folder, 'lineage.json'));
        expect(attempts).toMatchObject([{ end: { status: 'STOPPED', cause: { isDistrusted: true } } }]);
      },
      LIMIT_MS
    );

    it(
      'that was to be stopped when its follower died is stopped, and the next one says why',
      async () => {
        const own = await plan('condemned', 3, { IMITATE: 'conflicting-reward@1' });
        const told = await failureOf(follower(own), ALL);
        const path = join(own.folder, 'lineage.json');
        const lineage = await readLineage(path);
        for (const attempt of lineage.attempts) delete attempt.end;
        await writeLineage(path, lineage);
        const again = await failureOf(follower(own), ALL);
        expect([again.type, again.message]).toEqual([told.type, told.message]);
        expect((await readLineage(path)).attempts).toMatchObject([{ end: { cause: { type: 'DataInvalid' } } }]);
      },
      LIMIT_MS
    );

    it(
      'is not lost while the head is down, but when a new head does not know it; then it is resumed',
      async () => {
        const own = await plan('restarted', 6, { IMITATE_STEP_SECONDS: '1.5' });
        const job = follower(own);
        await job.follow({ fromStep: 0, untilStep: 3 }, hooks());
        await head.kill();
        // Out of sight is not lost: the attempt ends without a word about the job.
        const blind = await follower(own)
          .follow(ALL, hooks({ patienceMs: 500 }))
          .then(
            () => undefined,
            (error: unknown) => error
          );
        expect(blind).toMatchObject({ type: 'EngineUnavailable' });
        expect((await readLineage(join(own.folder, 'lineage.json'))).attempts[0]?.end).toBeUndefined();
        const following = job.follow(ALL, hooks()).catch((error: unknown) => error);
        await head.restart();
        expect(await following).toMatchObject({
          type: 'HostLost',
          message: expect.stringMatching(/started anew/) as string,
        });
        expect(await job.follow(ALL, hooks())).toMatchObject({ steps: 6, finished: true });
        const { attempts } = await readLineage(join(own.folder, 'lineage.json'));
        expect(attempts.map(({ end }) => end?.status)).toEqual(['LOST', 'SUCCEEDED']);
        // After a checkpoint, of which there is one every second step.
        expect([2, 4]).toContain(attempts[1]?.firstStep);
      },
      LIMIT_MS
    );
  }
);
