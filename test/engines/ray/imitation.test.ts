import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newestCheckpoint } from '../../../engines/ray/checkpoints.js';
import { classifyJobFailure } from '../../../engines/ray/log/classify.js';
import type { Flavour } from '../../../engines/ray/types.js';
import { factsIn, runJob, tinyRecipe, writeTrainData, type Finished } from './support.js';

const FLAVOURS: Flavour[] = ['relax', 'vime'];
let root: string;
let next = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'memagent-imitation-'));
});
afterAll(() => rm(root, { recursive: true }));

async function place(): Promise<string> {
  const dir = join(root, String((next += 1)));
  await writeTrainData(join(dir, 'train.jsonl'));
  return dir;
}

function rewards({ log }: Finished): (number | undefined)[] {
  const steps = [...log.records.keys()].sort((a, b) => a - b);
  return steps.map((step) => log.records.get(step)?.reward);
}

async function misbehave(arm: Flavour, imitate: string): Promise<Finished & { dir: string }> {
  const dir = await place();
  const recipe = await tinyRecipe(4, { IMITATE: imitate });
  return { ...(await runJob(recipe, arm, factsIn(dir, 4))), dir };
}

describe.each(FLAVOURS)('the program that imitates %s', (arm) => {
  it('does its steps with the flags of the launch recipe, and the log says all of it', async () => {
    const dir = await place();
    const done = await runJob(await tinyRecipe(4), arm, factsIn(dir, 4));
    expect(done.output).not.toContain('error:');
    expect(done.end.exitCode).toBe(0);
    expect(done.log.problems).toEqual([]);
    expect(rewards(done).every((reward) => reward !== undefined)).toBe(true);
    expect([...done.log.records.keys()]).toEqual([0, 1, 2, 3]);
    expect(done.log.records.get(3)?.metrics).toMatchObject({ 'train/grad_norm': 0.25, 'perf/train_time': 0.03 });
    expect(await newestCheckpoint(join(dir, 'checkpoints'))).toMatchObject({ newest: { step: 3 }, skipped: [] });
  });

  it('prints the counts of the smoke gate as far as the framework does', async () => {
    const dir = await place();
    const { log } = await runJob(await tinyRecipe(2), arm, factsIn(dir, 2));
    const counts = log.records.get(0)?.counts;
    expect(counts).toEqual(
      arm === 'relax' ? { transferred: 60, consumed: 60 } : { generated: 60, transferred: 56, trimmed: 4, consumed: 56 }
    );
  });

  it('goes on from a checkpoint with the steps after it, and repeats lines where it is asked to', async () => {
    const dir = await place();
    const died = await runJob(await tinyRecipe(4, { IMITATE: 'die@3' }), arm, factsIn(dir, 4));
    expect(died.end.exitCode).toBe(1);
    const { newest } = await newestCheckpoint(join(dir, 'checkpoints'));
    expect(newest?.step).toBe(1);
    const resume = { dir: join(dir, 'checkpoints'), step: 1 };
    const recipe = await tinyRecipe(4, { IMITATE: 'duplicates' });
    const resumed = await runJob(recipe, arm, factsIn(dir, 4, { resume }));
    expect(resumed.end.exitCode).toBe(0);
    expect(resumed.log.problems).toEqual([]);
    expect([...resumed.log.records.keys()]).toEqual([0, 1, 2, 3]);
    expect(resumed.log.records.get(0)?.reward).toBe(died.log.records.get(0)?.reward);
    const skipping = await runJob(await tinyRecipe(4, { IMITATE: 'wrong-step' }), arm, factsIn(dir, 4, { resume }));
    expect([...skipping.log.records.keys()]).toEqual([3]);
  });
});

describe('a misbehaviour', () => {
  it.each([
    ['relax', 'cuda-oom@2', 'OutOfMemory'],
    ['vime', 'host-oom@2', 'OutOfMemory'],
    ['relax', 'save-oom@1', 'OutOfMemory'],
    ['vime', 'nccl-timeout@1', 'Stalled'],
    ['relax', 'port-in-use', 'EngineUnavailable'],
    ['relax', 'assertion@1', 'EngineUnavailable'],
    ['vime', 'node-died@1', 'HostLost'],
    ['relax', 'exit-zero@1', 'EngineUnavailable'],
    ['vime', 'die@1', 'EngineUnavailable'],
  ] as const)('of %s, %s, is classified: %s', async (arm, imitate, type) => {
    const { end } = await misbehave(arm, imitate);
    expect(classifyJobFailure(end).type).toBe(type);
  });

  it.each([
    ['relax', 'nan-loss@1', 'NonFiniteLoss'],
    ['vime', 'conflicting-reward@1', 'DataInvalid'],
    ['relax', 'bad-reward@1', 'DataInvalid'],
  ] as const)('of %s, %s, is a problem of the log: %s', async (arm, imitate, type) => {
    const { log } = await misbehave(arm, imitate);
    expect(log.problems).toMatchObject(expect.arrayContaining([expect.objectContaining({ type })]) as object);
  });

  it.each([
    ['vime', 'missing-reward@1'],
    ['relax', 'cut-line@1'],
  ] as const)('of %s, %s, leaves a step without its reward', async (arm, imitate) => {
    const { log, end } = await misbehave(arm, imitate);
    expect(end.exitCode).toBe(0);
    expect([0, 1, 2, 3].filter((step) => log.records.get(step)?.reward === undefined)).toEqual([1]);
  });

  it.each([
    ['relax', 'torn-checkpoint@3'],
    ['vime', 'half-saved@3'],
  ] as const)('of %s, %s, leaves a checkpoint that is passed over', async (arm, imitate) => {
    const { dir } = await misbehave(arm, imitate);
    const { newest, skipped } = await newestCheckpoint(join(dir, 'checkpoints'));
    expect(newest?.step).toBe(1);
    expect(skipped).toHaveLength(1);
  });
});

describe('a launch that the framework would not understand', () => {
  it('is refused by the program as argparse does, and known as a wrong commit', async () => {
    const dir = await place();
    const recipe = await tinyRecipe(4);
    const facts = factsIn(dir, 4);
    const { end, output } = await runJob(recipe, 'relax', { ...facts, saveDir: '--no-such-flag' });
    expect(output).toContain('error:');
    expect(end.exitCode).toBe(2);
    expect(classifyJobFailure(end).type).toBe('PinMismatch');
  });

  it('has the settings of the memory agent in a file that is plain YAML', async () => {
    const dir = await place();
    await runJob(await tinyRecipe(1), 'relax', factsIn(dir, 1));
    expect(await readFile(join(dir, 'job', 'mem_agent.yaml'), 'utf8')).toContain(
      'custom_train_sample_expansion_factor: 65\n'
    );
  });
});
