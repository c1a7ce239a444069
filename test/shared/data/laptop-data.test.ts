import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateLaptopData } from '../../../shared/data/laptop-files.js';
import { laptopItem } from '../../../shared/data/laptop-generator.js';
import { LAPTOP_KEYS } from '../../../shared/data/laptop-task.js';
import { readRows } from '../../../shared/data/read-rows.js';
import type { PyDict } from '../../../shared/data/python/value.js';

const OPTIONS = {
  seed: 7,
  trainItems: 12,
  devItems: 5,
  trainChunks: 4,
  factsPerChunk: 8,
  evalLengths: [4, 16],
  evalItems: 6,
};

function factsOf(context: string): [string, string][] {
  expect(context.endsWith(';\n')).toBe(true);
  return context
    .slice(0, -2)
    .split(';\n')
    .map((fact) => {
      expect(fact).toMatch(/^[a-z]+=[0-9]{2}$/);
      return fact.split('=') as [string, string];
    });
}

describe('a laptop item', () => {
  it('asks for a key that stands in the context exactly once, with its value as the answer', () => {
    for (const chunks of [4, 8, 16]) {
      for (let index = 0; index < 100; index += 1) {
        const item = laptopItem({ seed: 7, set: 'eval', chunks, factsPerChunk: 8, index });
        const facts = factsOf(item.context);
        expect(facts).toHaveLength(chunks * 8);
        const asked = facts.filter(([key]) => `${key}=` === item.question);
        expect(asked).toEqual([[item.question.slice(0, -1), item.answer]]);
        expect(facts.findIndex(([key]) => `${key}=` === item.question)).toBeGreaterThanOrEqual(item.answerChunk * 8);
      }
    }
  });

  it('repeats no key while the keys suffice, and none within a chunk afterwards', () => {
    const short = factsOf(laptopItem({ seed: 1, set: 'train', chunks: 8, factsPerChunk: 8, index: 0 }).context);
    expect(new Set(short.map(([key]) => key)).size).toBe(64);
    const long = factsOf(laptopItem({ seed: 1, set: 'train', chunks: 16, factsPerChunk: 8, index: 0 }).context);
    for (let chunk = 0; chunk < 16; chunk += 1) {
      expect(new Set(long.slice(chunk * 8, chunk * 8 + 8).map(([key]) => key)).size).toBe(8);
    }
  });

  it('puts the asked fact into every chunk and asks for every key about equally often', () => {
    const chunks = new Map<number, number>();
    const keys = new Map<string, number>();
    for (let index = 0; index < 6400; index += 1) {
      const item = laptopItem({ seed: 3, set: 'train', chunks: 4, factsPerChunk: 8, index });
      chunks.set(item.answerChunk, (chunks.get(item.answerChunk) ?? 0) + 1);
      keys.set(item.question, (keys.get(item.question) ?? 0) + 1);
    }
    // Binomial with p = 1/4 (σ = 35) and p = 1/64 (σ = 10): six standard deviations either way.
    expect([...chunks.values()].every((count) => Math.abs(count - 1600) < 210)).toBe(true);
    expect(keys.size).toBe(64);
    expect([...keys.values()].every((count) => Math.abs(count - 100) < 60)).toBe(true);
  });

  it('differs between sets, seeds and lengths, and is the same when made again', () => {
    const base = { seed: 7, set: 'train', chunks: 4, factsPerChunk: 8, index: 3 } as const;
    const variants = [
      base,
      { ...base, set: 'dev' },
      { ...base, set: 'eval' },
      { ...base, seed: 8 },
      { ...base, index: 4 },
    ] as const;
    expect(new Set(variants.map((options) => laptopItem(options).context)).size).toBe(variants.length);
    expect(laptopItem(base)).toEqual(laptopItem({ ...base }));
  });

  it('refuses a chunk with more facts than there are other keys', () => {
    expect(() => laptopItem({ seed: 1, set: 'train', chunks: 1, factsPerChunk: 64, index: 0 })).toThrow(
      /at most 63 facts/
    );
    expect(LAPTOP_KEYS).toHaveLength(64);
  });
});

describe('the laptop data files', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'memagent-laptop-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function rowsOf(path: string): Promise<PyDict[]> {
    const rows: PyDict[] = [];
    for await (const batch of readRows(path))
      for (const row of batch) if ('value' in row) rows.push(row.value as PyDict);
    return rows;
  }

  it('have the same bytes each time and say their true hash', async () => {
    const first = await generateLaptopData(join(folder, 'a'), OPTIONS);
    const second = await generateLaptopData(join(folder, 'b'), OPTIONS);
    expect(second).toEqual(first);
    expect(first.map(({ filename }) => filename)).toEqual([
      'train.parquet',
      'dev.parquet',
      'eval_4.json',
      'eval_16.json',
    ]);
    for (const file of first) {
      const bytes = await readFile(join(folder, 'b', file.filename));
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(file.sha256);
      expect(bytes.byteLength).toBe(file.bytes);
    }
  });

  it('hold the training rows in the columns of the real data set', async () => {
    await generateLaptopData(join(folder, 'c'), OPTIONS);
    const rows = await rowsOf(join(folder, 'c', 'train.parquet'));
    expect(rows).toHaveLength(12);
    const item = laptopItem({ seed: 7, set: 'train', chunks: 4, factsPerChunk: 8, index: 5 });
    expect(rows[5]).toEqual(
      new Map<string, unknown>([
        ['data_source', 'laptop'],
        [
          'prompt',
          [
            new Map([
              ['content', item.question],
              ['role', 'user'],
            ]),
          ],
        ],
        ['context', item.context],
        ['ability', 'memory'],
        [
          'reward_model',
          new Map<string, unknown>([
            ['ground_truth', [item.answer]],
            ['style', 'rule'],
          ]),
        ],
        [
          'extra_info',
          new Map<string, unknown>([
            ['index', 5n],
            ['num_docs', 4n],
            ['question', item.question],
          ]),
        ],
      ])
    );
  });

  it('keep item i when more items are asked for', async () => {
    await generateLaptopData(join(folder, 'd'), { ...OPTIONS, evalItems: 6 });
    await generateLaptopData(join(folder, 'e'), { ...OPTIONS, trainItems: 30, evalItems: 20 });
    for (const name of ['train.parquet', 'eval_16.json']) {
      const few = await rowsOf(join(folder, 'd', name));
      expect((await rowsOf(join(folder, 'e', name))).slice(0, few.length)).toEqual(few);
    }
  });
});
