import { mkdir, mkdtemp, open, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetWriteFile } from 'hyparquet-writer';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hashFile } from '../../../shared/artifacts/atomic-file.js';
import { ROW_GROUP_VALUES } from '../../../shared/artifacts/parquet-file.js';
import { readRows, writeRows } from '../../../shared/artifacts/rows-parquet.js';
import { readTrajectories, writeTrajectories } from '../../../shared/artifacts/trajectories-parquet.js';
import type { Trajectory, TrainingRows } from '../../../shared/contracts/trajectory.js';
import { HOSTILE_TEXTS, wellFormed } from '../../fixtures/hostile.js';
import { makeRows, makeTrajectory } from '../../fixtures/trajectories.js';

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'memagent-parquet-'));
  path = join(directory, 'step-000000.parquet');
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe('training rows as Parquet', () => {
  it('come back value by value, also doubles that float32 cannot hold, infinities, NaN and -0', async () => {
    const rows = makeRows(7, 40);
    rows.rollout_log_probs[3] = [-0.1, -1e-300, -0, 0, -Infinity, NaN, -Number.MIN_VALUE];
    rows.rewards[5] = -0;
    const written = await writeRows(path, rows);
    expect(await readRows(path)).toEqual(rows);
    expect(written).toEqual(await hashFile(path));
  });

  it('come back when there are no rows, and when a row has no tokens', async () => {
    const empty = makeRows(1, 0);
    await writeRows(path, empty);
    expect(await readRows(path)).toEqual(empty);
    const rows = makeRows(1, 3);
    rows.tokens[1] = [];
    rows.loss_masks[1] = [];
    rows.rollout_log_probs[1] = [];
    await writeRows(path, rows);
    expect(await readRows(path)).toEqual(rows);
  });

  it('come back from several row groups when they are many or long', async () => {
    const many = makeRows(3, 10_050, 3);
    await writeRows(path, many);
    expect(await readRows(path)).toEqual(many);
    const long = makeRows(3, 3, 8);
    long.tokens = long.tokens.map((_, row) => new Array<number>(ROW_GROUP_VALUES / 2 + 1).fill(row));
    await writeRows(path, long);
    expect((await readRows(path)).tokens).toEqual(long.tokens);
  });

  it('have equal bytes when they are equal', async () => {
    const other = join(directory, 'other.parquet');
    expect(await writeRows(path, makeRows(9, 64))).toEqual(await writeRows(other, makeRows(9, 64)));
    expect(await readFile(path)).toEqual(await readFile(other));
  });

  it('are refused when their columns differ in length, and nothing is left behind', async () => {
    const rows = makeRows(7, 4);
    rows.rewards.pop();
    await expect(writeRows(path, rows)).rejects.toMatchObject({
      type: 'ConversionFailed',
      message: expect.stringContaining('rewards has 3') as string,
    });
    expect(await readdir(directory)).toEqual([]);
  });

  it('leave nothing behind when a value is no 32-bit integer', async () => {
    const rows = makeRows(7, 4);
    rows.tokens[2] = [1.5];
    await expect(writeRows(path, rows)).rejects.toThrow(/integer/);
    expect(await readdir(directory)).toEqual([]);
  });
});

describe('trajectories as Parquet', () => {
  it('come back exactly, also aborted ones without a turn', async () => {
    const trajectories: Trajectory[] = Array.from({ length: 64 }, (_, index) => makeTrajectory(11, index));
    trajectories[3] = { ...makeTrajectory(11, 3), status: 'aborted', turns: [], memories: [], memoryTokenLengths: [] };
    trajectories[4]!.turns[0]!.rolloutLogProbs[0] = -0;
    const written = await writeTrajectories(path, trajectories);
    expect(await readTrajectories(path)).toEqual(trajectories);
    expect(written).toEqual(await hashFile(path));
  });

  it('keep hostile texts: only a lone surrogate becomes U+FFFD', async () => {
    const trajectories = HOSTILE_TEXTS.map(({ text }, index) => ({
      ...makeTrajectory(5, index),
      finalOutput: text,
      prediction: text,
      memories: [text, ''],
    }));
    await writeTrajectories(path, trajectories);
    const back = await readTrajectories(path);
    expect(back.map(({ finalOutput }) => finalOutput)).toEqual(HOSTILE_TEXTS.map(({ text }) => wellFormed(text)));
    expect(back.map(({ memories }) => memories)).toEqual(HOSTILE_TEXTS.map(({ text }) => [wellFormed(text), '']));
  });
});

describe('a file that is not whole', () => {
  async function expectDataInvalid(reading: Promise<unknown>, text = path): Promise<void> {
    await expect(reading).rejects.toMatchObject({
      type: 'DataInvalid',
      message: expect.stringContaining(text) as string,
      details: { where: path },
    });
  }

  it.each([0, 3, 40, 1000])('is DataInvalid with its path when only %i bytes are there', async (size) => {
    await writeRows(path, makeRows(2, 200));
    await truncate(path, size);
    await expectDataInvalid(readRows(path));
  });

  it('is DataInvalid when it is missing, a folder, or text', async () => {
    await expectDataInvalid(readRows(path));
    await mkdir(path);
    await expectDataInvalid(readTrajectories(path));
    await rm(path, { recursive: true });
    await writeFile(path, '{"tokens": []}\n'.repeat(100));
    await expectDataInvalid(readRows(path));
  });

  it('is DataInvalid when it is Parquet of another kind', async () => {
    await writeTrajectories(path, [makeTrajectory(1, 0)]);
    await expectDataInvalid(readRows(path), 'trajectories/1');
    parquetWriteFile({ filename: path, columnData: [{ name: 'tokens', data: [1, 2], type: 'INT32' }] });
    await expectDataInvalid(readRows(path), 'no format mark');
  });

  it('never comes back as other numbers of rows when bytes in the middle are zeroed', async () => {
    const rows: TrainingRows = makeRows(2, 300);
    await writeRows(path, rows);
    const handle = await open(path, 'r+');
    await handle.write(Buffer.alloc(2000), 0, 2000, 500);
    await handle.close();
    await expectDataInvalid(readRows(path));
  });
});
