import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer, type ParquetWriteOptions } from 'hyparquet-writer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pyJsonDumps } from '../../../shared/data/python/json-dumps.js';
import { readParquetRows } from '../../../shared/data/read-parquet.js';
import { PhiloxStream } from '../../../shared/random/philox.js';

const SHARED = process.env['MEMAGENT_SHARED'] ?? resolve(import.meta.dirname, '../../../../shared');

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-parquet-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function put(name: string, options: Omit<ParquetWriteOptions, 'writer'>): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, Buffer.from(parquetWriteBuffer(options)));
  return path;
}

async function read(path: string): Promise<{ rows: string[]; batches: number[] }> {
  const rows: string[] = [];
  const batches: number[] = [];
  for await (const batch of readParquetRows(path)) {
    batches.push(batch.length);
    for (const row of batch) {
      rows.push('value' in row ? pyJsonDumps(row.value) : row.malformed);
      expect(row.row).toBe(rows.length);
    }
  }
  return { rows, batches };
}

/** Texts that do not compress, so that a row group has many pages. */
function longTexts(count: number, length: number): string[] {
  const draws = new PhiloxStream(9);
  return Array.from({ length: count }, (_, at) => {
    const words = Uint32Array.from({ length: length / 8 }, () => draws.nextWord());
    return `${at} é ${Buffer.from(words.buffer).toString('hex')}`;
  });
}

describe('a Parquet file', () => {
  it('gives int64, int32 and float columns as Python has them, and null as None', async () => {
    const path = await put('types.parquet', {
      columnData: [
        { name: 'long', data: [1n, -(2n ** 60n), null], type: 'INT64' },
        { name: 'int', data: [1, 2, null], type: 'INT32' },
        { name: 'double', data: [1, 0.1, null], type: 'DOUBLE' },
        { name: 'flag', data: [true, false, null], type: 'BOOLEAN' },
        { name: 'text', data: ['é', '', null], type: 'STRING' },
      ],
    });
    expect((await read(path)).rows).toEqual([
      '{"long": 1, "int": 1, "double": 1.0, "flag": true, "text": "é"}',
      '{"long": -1152921504606846976, "int": 2, "double": 0.1, "flag": false, "text": ""}',
      '{"long": null, "int": null, "double": null, "flag": null, "text": null}',
    ]);
  });

  it.each([false, true])(
    'is read in batches within a large row group, with a page index of its own: %s',
    async (offsetIndex) => {
      const context = longTexts(400, 80_000);
      const index = context.map((_, at) => BigInt(at));
      const path = await put(`large-${offsetIndex}.parquet`, {
        columnData: [
          { name: 'context', data: context, type: 'STRING', offsetIndex, encoding: 'PLAIN' },
          { name: 'index', data: index, type: 'INT64' },
        ],
        rowGroupSize: 300,
      });
      const { rows, batches } = await read(path);
      expect(rows).toEqual(context.map((text, at) => `{"context": ${JSON.stringify(text)}, "index": ${at}}`));
      // 300 rows of 80 KB are three batches of about 8 MiB; the second group is one.
      expect(batches).toHaveLength(4);
      expect(batches.reduce((sum, rowsOfBatch) => sum + rowsOfBatch, 0)).toBe(400);
    }
  );

  it('may be compressed with gzip', async () => {
    const compressors = { GZIP: (bytes: Uint8Array): Uint8Array => gzipSync(bytes) };
    const path = await put('gzip.parquet', {
      columnData: [{ name: 'a', data: ['x', 'y'] }],
      codec: 'GZIP',
      compressors,
    });
    expect((await read(path)).rows).toEqual(['{"a": "x"}', '{"a": "y"}']);
  });

  it('that is torn at any place is refused, never read short', async () => {
    const whole = await readFile(await put('torn.parquet', { columnData: [{ name: 'a', data: longTexts(50, 2000) }] }));
    for (const size of [
      0,
      3,
      4,
      100,
      Math.floor(whole.length / 2),
      whole.length - 9,
      whole.length - 4,
      whole.length - 1,
    ]) {
      const path = join(folder, `torn-${size}.parquet`);
      await writeFile(path, whole.subarray(0, size));
      await expect(read(path), `cut to ${size} bytes`).rejects.toMatchObject({
        type: 'DataInvalid',
        message: expect.stringContaining('copy or download it again'),
      });
    }
  });

  it('with a damaged page or a foreign content is refused', async () => {
    const whole = await readFile(
      await put('damaged.parquet', { columnData: [{ name: 'a', data: longTexts(50, 2000) }] })
    );
    const damaged = Buffer.from(whole);
    damaged.fill(0xff, 4, 200);
    const path = join(folder, 'damaged2.parquet');
    await writeFile(path, damaged);
    await expect(read(path)).rejects.toMatchObject({
      type: 'DataInvalid',
      message: expect.stringMatching(/rows from 1 on cannot be decoded/),
    });
    await writeFile(path, 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n');
    await expect(read(path)).rejects.toMatchObject({ message: expect.stringContaining('git lfs pull') });
  });

  it('stops at an abort', async () => {
    const path = await put('abort.parquet', { columnData: [{ name: 'a', data: longTexts(4, 100) }], rowGroupSize: 1 });
    const aborting = new AbortController();
    const rows = readParquetRows(path, { signal: aborting.signal });
    expect((await rows.next()).value).toHaveLength(1);
    aborting.abort(new Error('stop'));
    await expect(rows.next()).rejects.toThrow('stop');
  });

  describe.skipIf(!existsSync(SHARED))('of the ARPO data set (skipped: the folder of shared data is absent)', () => {
    it('gives verl’s columns', async () => {
      const { rows } = await read(join(SHARED, 'data/parquet/arpo_valid.parquet'));
      expect(rows).toHaveLength(180);
      const first = JSON.parse(rows[0] as string) as Record<string, unknown>;
      expect(first).toMatchObject({
        prompt: [{ role: expect.any(String), content: expect.any(String) }, ...(first['prompt'] as unknown[]).slice(1)],
      });
      expect(typeof (first['reward_model'] as Record<string, unknown>)['ground_truth']).toBe('string');
      expect((first['extra_info'] as Record<string, unknown>)['index']).toBe(0);
    });
  });
});
