import { WorkflowUpdateFailedError, type WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PipelineState, Progress } from '../../shared/contracts/progress.js';
import { startWebhook } from '../fixtures/webhook.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { BookKeeping, startPipeline, testRecipe, until, withWorkers } from './support.js';

const ONE_ARM = { arms: { relax: { flavour: 'relax' } }, grpo: { steps: 2, checkpointEvery: 2 } };

let environment: TestWorkflowEnvironment;
beforeAll(async () => {
  environment = await localEnvironment();
});
afterAll(() => environment.teardown());

function progressOf(handle: WorkflowHandle): Promise<Progress> {
  return handle.query<Progress>('progress');
}

async function untilState(handle: WorkflowHandle, state: PipelineState): Promise<Progress> {
  await until(async () => (await progressOf(handle)).state === state, `the pipeline is ${state}`);
  return await progressOf(handle);
}

function decide(handle: WorkflowHandle, decision: object): Promise<string> {
  return handle.executeUpdate<string, [object]>('decide', { args: [decision] });
}

async function endOf(handle: WorkflowHandle): Promise<ApplicationFailure | undefined> {
  return await handle.result().then(
    () => undefined,
    (error: unknown) => (error as WorkflowFailedError).cause as ApplicationFailure
  );
}

async function running(books: BookKeeping, body: (handle: WorkflowHandle) => Promise<void>): Promise<void> {
  await withWorkers(environment, books, async () => body(await startPipeline(environment, books)));
}

describe('a pause', () => {
  it('after the stages of the recipe waits for “continue”; webhook and progress say so', async () => {
    const webhook = await startWebhook(204);
    const books = new BookKeeping(
      testRecipe({ ...ONE_ARM, pauseAfter: ['smoke', 'judge'], notify: { webhook: webhook.url } })
    );
    try {
      await running(books, async (handle) => {
        expect((await untilState(handle, 'paused')).pause).toMatchObject({ stages: ['smoke:relax'] });
        expect(books.count('openArm:train-relax')).toBe(0);
        await expect(decide(handle, { action: 'retry' })).rejects.toThrow(WorkflowUpdateFailedError);
        expect(await decide(handle, { action: 'continue' })).toBe('the pipeline goes on after smoke:relax');
        await until(() => books.count('judge') === 1, 'the run is judged');
        await untilState(handle, 'paused');
        await decide(handle, { action: 'continue' });
        expect(await endOf(handle)).toBeUndefined();
        expect((await progressOf(handle)).warnings).toBeUndefined();
        expect(webhook.notices.map(({ event, stage }) => `${event} ${stage ?? ''}`)).toEqual([
          'paused smoke:relax',
          'paused judge',
          'completed ',
        ]);
        expect(webhook.notices[2]?.verdict?.outcome).toBe('passed');
      });
    } finally {
      await webhook.close();
    }
  });

  it('can be the end of the run, with the operator’s reason; a webhook that refuses changes nothing', async () => {
    const webhook = await startWebhook(404);
    const books = new BookKeeping(testRecipe({ ...ONE_ARM, pauseAfter: 'data', notify: { webhook: webhook.url } }));
    try {
      await running(books, async (handle) => {
        await untilState(handle, 'paused');
        await decide(handle, { action: 'abort', note: 'wrong corpus' });
        expect(await endOf(handle)).toMatchObject({
          type: 'Aborted',
          message: 'ended by a decision after data: wrong corpus',
        });
        const { state, warnings } = await progressOf(handle);
        expect(state).toBe('failed');
        expect(warnings?.[0]).toMatch(/^the webhook did not take "paused": 127\.0\.0\.1:\d+ answered 404$/);
      });
    } finally {
      await webhook.close();
    }
  });
});

describe('beginning again at a stage', () => {
  it('of one arm makes it anew and repeats what follows, and leaves the other arm and all before it alone', async () => {
    const books = new BookKeeping(testRecipe({ grpo: { steps: 2, checkpointEvery: 2 }, onHalt: 'wait' }));
    books.fail('convertCheckpoint:relax', 'CheckpointInvalid', 1, false);
    await running(books, async (handle) => {
      expect((await untilState(handle, 'halted')).halt?.stage).toBe('convert:relax');
      await expect(decide(handle, { action: 'retryFromStage', stage: 'judge' })).rejects.toThrow(
        WorkflowUpdateFailedError
      );
      expect(await decide(handle, { action: 'retryFromStage', stage: 'train:relax' })).toContain(
        'train:relax is made anew'
      );
      expect(await endOf(handle)).toBeUndefined();
      expect(books.count('setStageAside')).toBe(1);
      expect(books.calls.indexOf('setStageAside:train:relax')).toBeLessThan(
        books.calls.lastIndexOf('openArm:train-relax')
      );
      const counts = ['openArm:smoke-relax', 'openArm:train-relax', 'convertCheckpoint:relax', 'openArm:train-vime'];
      expect(counts.map((call) => books.count(call))).toEqual([1, 2, 2, 1]);
    });
  });

  it('of the common part goes through the whole chain again', async () => {
    const books = new BookKeeping(testRecipe({ ...ONE_ARM, pauseAfter: 'evaluate' }));
    await running(books, async (handle) => {
      await untilState(handle, 'paused');
      await decide(handle, { action: 'retryFromStage', stage: 'data' });
      await until(() => books.count('evaluateModel:relax:eval_4') === 2, 'the evaluation ran again');
      const { stages, artifacts } = await untilState(handle, 'paused');
      expect(stages.find(({ name }) => name === 'judge')?.state).toBe('pending');
      expect(new Set(artifacts.map(({ path }) => path)).size).toBe(artifacts.length);
      await decide(handle, { action: 'continue' });
      expect(await endOf(handle)).toBeUndefined();
      expect(books.calls.filter((call) => call.startsWith('setStageAside'))).toEqual(['setStageAside:data']);
      expect(['resolveRecipe', 'prepareData', 'openArm:smoke-relax'].map((call) => books.count(call))).toEqual([
        1, 2, 2,
      ]);
    });
  });
});

describe('a failed attempt', () => {
  it('is listed with host, step and seconds lost, and its stage with the sum', async () => {
    const books = new BookKeeping(testRecipe(ONE_ARM));
    books.fail('trainStep:train-relax:1', 'EngineUnavailable', 2);
    await running(books, async (handle) => {
      expect(await endOf(handle)).toBeUndefined();
      const { attempts, stages } = await progressOf(handle);
      expect(attempts).toHaveLength(2);
      for (const attempt of attempts) {
        expect(attempt).toMatchObject({
          stage: 'train:relax',
          activity: 'trainStep',
          step: 1,
          type: 'EngineUnavailable',
        });
        expect(attempt.host).toMatch(/\S/);
        expect(attempt.secondsLost).toBeGreaterThanOrEqual(0);
      }
      const sum = attempts.reduce((total, attempt) => total + (attempt.secondsLost ?? 0), 0);
      expect(stages.find(({ name }) => name === 'train:relax')?.secondsLost).toBeCloseTo(sum, 5);
    });
  });
});

describe('OutOfMemory', () => {
  it('is tried once more with the recipe’s smaller settings, and progress names them', async () => {
    const oomFallback = { rolloutConcurrency: 8, evaluationConcurrency: 2 };
    const books = new BookKeeping(testRecipe({ ...ONE_ARM, oomFallback }));
    books.fail('trainStep:train-relax:0', 'OutOfMemory', 1, false);
    books.fail('evaluateModel:base:dev', 'OutOfMemory', 1, false);
    await running(books, async (handle) => {
      expect(await endOf(handle)).toBeUndefined();
      const { fallbacks } = await progressOf(handle);
      expect(fallbacks).toMatchObject([
        { stage: 'train:relax', settings: { rolloutConcurrency: 8 } },
        { stage: 'evaluate', settings: { evaluationConcurrency: 2 } },
      ]);
      expect(books.smaller.has('trainStep:train-relax:1')).toBe(true);
      expect(books.smaller.has('generateRollouts:train-relax:0')).toBe(false);
    });
  });

  it('is final when the smaller settings are not enough, and at once where none are declared', async () => {
    const books = new BookKeeping(testRecipe({ ...ONE_ARM, oomFallback: { rolloutConcurrency: 8 } }));
    books.fail('trainStep:train-relax:0', 'OutOfMemory', 2, false);
    await running(books, async (handle) => {
      expect((await endOf(handle))?.type).toBe('OutOfMemory');
      expect(books.count('trainStep:train-relax:0')).toBe(2);
    });
    const plain = new BookKeeping(testRecipe(ONE_ARM));
    plain.fail('trainStep:train-relax:0', 'OutOfMemory', 1, false);
    await running(plain, async (handle) => {
      expect((await endOf(handle))?.type).toBe('OutOfMemory');
      expect(plain.count('trainStep:train-relax:0')).toBe(1);
    });
  });
});
