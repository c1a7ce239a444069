import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, mkdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EngineCpu } from '../../activities/cost/engine-cpu.js';
import { gpusOf } from '../../activities/cost/gpus-of.js';
import { SharedCpu } from '../../activities/cost/shared-cpu.js';
import { stageOf, workOf } from '../../activities/cost/stage-of.js';
import type { RunFiles } from '../../activities/ports.js';
import { activity } from '../../activities/scope.js';
import { writeLease } from '../../engines/supervision/lease.js';
import type { RunHandle } from '../../shared/contracts/activities.js';
import { PipelineError } from '../../shared/contracts/pipeline-error.js';
import type { Recipe } from '../../shared/contracts/recipe.js';
import { readCostRecords } from '../../shared/cost/cost-record.js';
import { cpuSeconds, identify } from '../../shared/runtime/process-identity.js';

let root: string;
let run: RunHandle;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'memagent-cost-'));
  run = { pipelineId: 'measured', root, recipeSha256: '' };
  await mkdir(join(root, 'measured'));
});
afterEach(() => rm(root, { recursive: true }));

const noted = async () => (await readCostRecords(join(root, 'measured')))?.attempts ?? [];

/** Works until the process has spent a measurable time. */
function burn(cpuSeconds: number): void {
  const from = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(from);
    if (user + system > cpuSeconds * 1e6) return;
  }
}

describe('an attempt of an activity', () => {
  it('notes what it is for, that it came to its end, and the CPU time it took', async () => {
    const body = activity(async (_: object) => burn(0.05));
    await new MockActivityEnvironment().run(body, { run, arm: 'relax', phase: 'train', step: 3 });
    const [record, ...others] = await noted();
    expect(others).toEqual([]);
    expect(record).toMatchObject({ stage: 'train:relax', state: 'done', host: hostname(), gpus: 0, engineCpu: 0 });
    expect(record?.work).toMatch(/ 3$/);
    expect(record?.workerCpu).toBeGreaterThanOrEqual(0.05);
  });

  it('notes a failure, and what of it brought an engine back', async () => {
    const body = activity(async (_: object, scope) => {
      scope.report({ phase: 'restore', step: 0, replayed: true });
      burn(0.05);
      scope.report({ phase: 'train', step: 1 });
      throw new PipelineError('NonFiniteLoss', 'loss is NaN');
    });
    await expect(new MockActivityEnvironment().run(body, { run })).rejects.toThrow('NaN');
    const [record] = await noted();
    expect(record?.state).toBe('failed');
    expect(record?.redone.workerCpu).toBeGreaterThanOrEqual(0.05);
  });

  it('notes the CPU time of its engine and of the server that samples for it', async () => {
    const burner = spawn(process.execPath, [
      '-e',
      'while (process.cpuUsage().user < 3e5); console.log(1); setInterval(() => 0, 1e6)',
    ]);
    try {
      const watchdog = { mode: 'observe', limits: {}, firstStepFactor: 1 };
      const files = { recipe: { engine: 'embedded', watchdog }, path: (name: string) => join(root, name) };
      const [engineFolder, serverFolder] = [join(root, 'engine'), join(root, 'server')];
      await Promise.all([mkdir(engineFolder), mkdir(serverFolder)]);
      const body = activity(async (_: object, scope) => {
        const guard = { run: files as unknown as RunFiles, name: 'train-relax', engineFolder, serverFolder };
        scope.watch({ ...guard, stop: () => Promise.resolve() });
        await once(burner.stdout, 'data');
        const lease = { host: hostname(), owner: identify(process.pid), port: 1, token: 1, specHash: '' };
        await writeLease(serverFolder, { ...lease, engine: identify(burner.pid as number) });
      });
      await new MockActivityEnvironment().run(body, { run, arm: 'relax', phase: 'train', step: 0 });
      expect((await noted()).at(-1)?.engineCpu).toBeGreaterThanOrEqual(0.3);
    } finally {
      burner.kill('SIGKILL');
    }
  });

  it('is no work of a run without a run, and makes no folder where none is', async () => {
    await new MockActivityEnvironment().run(
      activity(async () => 1),
      { queues: [] }
    );
    const elsewhere = { ...run, pipelineId: 'not-there' };
    expect(
      await new MockActivityEnvironment().run(
        activity(async () => 2),
        { run: elsewhere }
      )
    ).toBe(2);
    expect(await readCostRecords(join(root, 'not-there'))).toBeUndefined();
  });
});

it('CPU time of a process is shared evenly by those who are there, and nobody pays for the time before', () => {
  let spent = 5;
  const cpu = new SharedCpu(() => spent);
  const [first, second] = [{}, {}];
  spent = 7;
  cpu.enter(first);
  spent = 8;
  cpu.enter(second);
  spent = 12;
  expect([cpu.take(first), cpu.take(second)]).toEqual([3, 2]);
  cpu.leave(second);
  spent = 13;
  expect([cpu.take(first), cpu.take(second)]).toEqual([1, 0]);
});

it('CPU time of a server is that of all its processes', async () => {
  const child = `while (process.cpuUsage().user < 4e5); console.log(1); setInterval(() => 0, 1e6)`;
  const leader = spawn(
    process.execPath,
    ['-e', `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'inherit' })`],
    { detached: true }
  );
  try {
    await once(leader.stdout, 'data');
    const own = cpuSeconds(identify(leader.pid as number)) ?? 0;
    const lease = { host: hostname(), owner: identify(process.pid), port: 1, token: 1, specHash: '' };
    await writeLease(root, { ...lease, engine: identify(leader.pid as number) });
    expect(await new EngineCpu(root).take()).toBeGreaterThan(own + 0.3);
  } finally {
    process.kill(-(leader.pid as number), 'SIGKILL');
  }
});

it('CPU time of an engine is counted from the moment somebody looks; of an engine started since, all of it', async () => {
  const burner = () =>
    spawn(process.execPath, [
      '-e',
      'const e = Date.now() + 300; while (Date.now() < e); console.log(1); setInterval(() => 0, 1e6)',
    ]);
  const [first, second] = [burner(), burner()];
  try {
    await Promise.all([once(first.stdout, 'data'), once(second.stdout, 'data')]);
    const lease = { host: hostname(), owner: identify(process.pid), port: 1, token: 1, specHash: '' };
    const engine = new EngineCpu(root);
    expect(await engine.take()).toBe(0);
    await writeLease(root, { ...lease, engine: identify(first.pid as number) });
    expect(await engine.take()).toBeGreaterThan(0.05);
    expect(await engine.take()).toBeLessThan(0.05);
    await writeLease(root, { ...lease, engine: identify(second.pid as number) });
    expect(await engine.take()).toBeGreaterThan(0.05);
    await writeLease(root, { ...lease, host: 'elsewhere', engine: identify(first.pid as number) });
    expect(await engine.take()).toBe(0);
  } finally {
    first.kill('SIGKILL');
    second.kill('SIGKILL');
  }
});

describe('which stage and which GPUs', () => {
  it.each([
    ['generateRollouts', { arm: 'vime', phase: 'smoke', step: 1 }, 'smoke:vime', 'generateRollouts 1'],
    ['convertCheckpoint', { arm: 'vime' }, 'convert:vime', 'convertCheckpoint'],
    ['evaluateModel', { model: 'base', dataset: 'dev' }, 'evaluate', 'evaluateModel base dev'],
    ['stopServing', { model: 'screening' }, 'screen', 'stopServing screening'],
    ['setStageAside', { stage: 'data' }, 'data', 'setStageAside'],
    ['publishReport', {}, 'report', 'publishReport'],
  ])('%s with %j works for its stage', (name, args, stage, work) => {
    expect([stageOf(name, { run, ...args }), workOf(name, { run, ...args })]).toEqual([stage, work]);
  });

  it.each([
    ['runTrainingJob', { engine: 'ray', cluster: { gpus: 8 } }, 8],
    ['evaluateModel', { engine: 'ray', serving: { engine: 'sglang', args: ['--tp', '4'], env: {} } }, 4],
    ['screenData', { engine: 'ray', serving: { engine: 'vllm', args: ['--tensor-parallel-size=2'], env: {} } }, 2],
    ['evaluateModel', { engine: 'ray', serving: { engine: 'vllm', args: [], env: {} } }, 1],
    ['evaluateModel', { engine: 'ray', serving: { engine: 'sglang', args: ['--device', 'cpu'], env: {} } }, 0],
    ['evaluateModel', { engine: 'ray', serving: { engine: 'vllm', args: [], env: { CUDA_VISIBLE_DEVICES: '' } } }, 0],
    ['evaluateModel', { engine: 'ray', serving: { engine: 'vllm', args: [], env: {}, endpoint: 'http://x' } }, 0],
    ['convertRollouts', { engine: 'ray', cluster: { gpus: 8 } }, 0],
    ['trainStep', { engine: 'embedded' }, 0],
    ['generateRollouts', { engine: 'embedded', rolloutServing: { engine: 'sglang', args: ['--tp', '2'], env: {} } }, 2],
    ['trainStep', { engine: 'embedded', rolloutServing: { engine: 'sglang', args: [], env: {} } }, 1],
    ['trainStep', { engine: 'embedded', rolloutServing: { engine: 'sglang', args: ['--device', 'cpu'], env: {} } }, 0],
  ])('%s of %j holds %i GPUs', (name, recipe, gpus) => {
    expect(gpusOf(name, recipe as unknown as Recipe)).toBe(gpus);
  });
});
