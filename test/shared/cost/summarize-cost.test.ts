import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CostRecord } from '../../../shared/cost/cost-record.js';
import { readCost, summarizeCost } from '../../../shared/cost/summarize-cost.js';

const NOTHING = { seconds: 0, workerCpu: 0, engineCpu: 0 };

function attempt(changes: Partial<CostRecord>): CostRecord {
  return {
    id: 'a',
    stage: 'train:relax',
    work: 'trainStep 0',
    host: 'here',
    at: '2026-10-07T10:00:00.000Z',
    state: 'done',
    seconds: 10,
    workerCpu: 1,
    engineCpu: 4,
    gpus: 0,
    redone: NOTHING,
    ...changes,
  };
}

const later = '2026-10-07T10:01:00.000Z';

describe('the cost of a run', () => {
  it('is nothing wasted when every attempt came to its end', () => {
    const { total, stages, wastedShare } = summarizeCost([attempt({}), attempt({ stage: 'evaluate', work: 'e' })]);
    expect(stages.map(({ stage, attempts }) => [stage, attempts])).toEqual([
      ['train:relax', 1],
      ['evaluate', 1],
    ]);
    expect(total).toMatchObject({ attempts: 2, failed: 0, workerCpuSeconds: 2, engineCpuSeconds: 8 });
    expect(wastedShare).toBe(0);
  });

  it('counts failed attempts, steps trained again, and attempts whose work somebody else began again', () => {
    const { total, wastedShare } = summarizeCost([
      attempt({ state: 'failed' }),
      attempt({ work: 'trainStep 1', at: later, redone: { seconds: 1, workerCpu: 0.5, engineCpu: 1.5 } }),
      attempt({ work: 'trainStep 2', state: 'running' }),
      attempt({ work: 'trainStep 2', at: later }),
    ]);
    expect(total).toMatchObject({ attempts: 4, failed: 2, wastedCpuSeconds: 12 });
    expect(wastedShare).toBe(0.6);
  });

  it('takes an attempt without an end for running as long as nobody repeats it', () => {
    expect(summarizeCost([attempt({ state: 'running' })]).total).toMatchObject({ failed: 0, wastedCpuSeconds: 0 });
  });

  it('counts what a stage had taken before an operator put it aside', () => {
    const attempts = [attempt({}), attempt({ at: later }), attempt({ stage: 'evaluate' })];
    const { total } = summarizeCost(attempts, [{ discarded: 'train:relax', at: '2026-10-07T10:00:30.000Z' }]);
    expect(total.wastedCpuSeconds).toBe(5);
  });

  it('is in GPU-seconds where GPUs were held', () => {
    const { total, wastedShare } = summarizeCost([
      attempt({ gpus: 8 }),
      attempt({ gpus: 8, state: 'failed', seconds: 30 }),
      attempt({ stage: 'data', gpus: 0, seconds: 1000 }),
    ]);
    expect(total).toMatchObject({ gpuSeconds: 320, wastedGpuSeconds: 240 });
    expect(wastedShare).toBe(0.75);
  });
});

describe('what the workers noted', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'memagent-cost-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  it('is unknown for a run without notes', async () => {
    expect(await readCost(directory)).toBeUndefined();
  });

  it('counts the last line of each attempt of each process, and passes over a torn one', async () => {
    await mkdir(join(directory, '.cost'));
    const lines = (...records: CostRecord[]): string => records.map((record) => `${JSON.stringify(record)}\n`).join('');
    const running = attempt({ state: 'running', workerCpu: 0.1, engineCpu: 0 });
    await writeFile(join(directory, '.cost/one-1.jsonl'), `${lines(running, attempt({}))}{"id":"b","st`);
    await writeFile(join(directory, '.cost/two-1.jsonl'), lines(attempt({ work: 'other' })));
    expect((await readCost(directory))?.total).toMatchObject({ attempts: 2, workerCpuSeconds: 2 });
  });
});
