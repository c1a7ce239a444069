import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import type { RunFiles } from '../../activities/ports.js';
import { noteHandBack } from '../../engines/supervision/hand-back.js';
import { writeLease, type EngineLease } from '../../engines/supervision/lease.js';
import { activity } from '../../activities/scope.js';
import { WORKER_SHUTDOWN } from '../../shared/contracts/activities.js';
import { PipelineError } from '../../shared/contracts/pipeline-error.js';

/** An activity that works until it is told to stop. */
const endless = activity(async (_: object, { signal }) => {
  await new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(new Error('stopped in the middle')))
  );
});

describe('the frame around activities', () => {
  it('beats while the body works and sends its latest report', async () => {
    const environment = new MockActivityEnvironment({ heartbeatTimeoutMs: 60 });
    const beats: unknown[] = [];
    environment.on('heartbeat', (details: unknown) => beats.push(details));
    const body = activity(async (_: object, scope) => {
      scope.report({ phase: 'train', step: 7 });
      while (beats.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
      return 'done';
    });
    expect(await environment.run(body, {})).toBe('done');
    const beat = { phase: 'train', step: 7, host: hostname(), pid: process.pid };
    expect(beats).toEqual([beat, beat, beat]);
  });

  it('ends a cancelled body with a cancellation, whatever it threw on the way out', async () => {
    const environment = new MockActivityEnvironment();
    const running = environment.run(endless, {});
    environment.cancel('CANCELLED');
    await expect(running).rejects.toBeInstanceOf(CancelledFailure);
  });

  it('tells a worker that shuts down apart from a cancelled workflow, so that a deploy spends no budget', async () => {
    const environment = new MockActivityEnvironment();
    const running = environment.run(endless, {});
    environment.cancel('WORKER_SHUTDOWN');
    const error = await running.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ApplicationFailure);
    expect((error as ApplicationFailure).type).toBe(WORKER_SHUTDOWN);
  });

  it('keeps beating while what stalled is stopped, so that the stall does not look like a lost host', async () => {
    const watchdog = { mode: 'fail', limits: { step: 0.2 }, firstStepFactor: 1 };
    const files = { recipe: { watchdog }, path: (name: string) => name, find: async () => undefined };
    const run = { ...files, publish: async () => undefined } as unknown as RunFiles;
    const environment = new MockActivityEnvironment({ heartbeatTimeoutMs: 300 });
    let beats = 0;
    environment.on('heartbeat', () => (beats += 1));
    const stop = async (): Promise<void> => {
      const before = beats;
      while (beats < before + 3) await pause(5);
    };
    const body = activity(async (_: object, scope) => {
      scope.watch({ run, name: 'train-relax', stop });
      scope.report({ phase: 'step', step: 1 });
      await new Promise((_resolve, reject) => scope.signal.addEventListener('abort', () => reject(new Error('ended'))));
    });
    await expect(environment.run(body, {})).rejects.toMatchObject({ type: 'Stalled' });
  });

  it('tells an engine that went down with another worker’s deploy apart from one that died', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'memagent-scope-'));
    const engine = (pid: number): EngineLease =>
      ({ engine: { pid, start: 1 }, owner: { pid: 2, start: 2 } }) as EngineLease;
    const settings = { mode: 'observe', limits: { rollout: 60 }, firstStepFactor: 1 };
    const run = { recipe: { watchdog: settings }, path: (name: string) => name } as unknown as RunFiles;
    const attempt = async (meanwhile: () => Promise<void>): Promise<string> => {
      const body = activity(async (_: object, scope) => {
        scope.watch({ run, name: 'train-relax', engineFolder: folder, stop: async () => undefined });
        await meanwhile();
        throw new PipelineError('EngineUnavailable', 'connection refused');
      });
      const error = await new MockActivityEnvironment().run(body, {}).catch((reason: unknown) => reason);
      return (error as ApplicationFailure).type ?? '';
    };
    try {
      expect(await attempt(async () => undefined)).toBe('EngineUnavailable');
      expect(await attempt(() => noteHandBack(folder, engine(1)))).toBe(WORKER_SHUTDOWN);
      // That one is known now: the next engine’s death is a fault again.
      expect(await attempt(async () => undefined)).toBe('EngineUnavailable');
      expect(await attempt(() => noteHandBack(folder, engine(3)))).toBe(WORKER_SHUTDOWN);
      // Handed back, and not gone yet when the next attempt finds it.
      await writeLease(folder, engine(3));
      expect(await attempt(async () => undefined)).toBe(WORKER_SHUTDOWN);
      await writeLease(folder, engine(4));
      expect(await attempt(async () => undefined)).toBe('EngineUnavailable');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('turns errors of the failure table into typed failures that say what was being done, and on which host', async () => {
    const body = activity(async (_: object, scope) => {
      scope.report({ phase: 'train', step: 3 });
      throw new PipelineError('NonFiniteLoss', 'loss is NaN at step 3');
    });
    const error = await new MockActivityEnvironment().run(body, {}).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ type: 'NonFiniteLoss', message: 'loss is NaN at step 3', nonRetryable: true });
    expect((error as ApplicationFailure).details).toEqual([{ phase: 'train', host: hostname() }]);
  });
});
