import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LineIndex } from '../../../shared/data/line-index.js';

describe('the line index', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'memagent-lines-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function index(text: string): Promise<LineIndex> {
    const path = join(folder, 'data.jsonl');
    await writeFile(path, text);
    return LineIndex.build(path);
  }

  it('reads chosen lines in the order asked for, with or without a last newline', async () => {
    for (const end of ['', '\n']) {
      const lines = await index(`{"a":1}\n{"a":"ü🙂"}\n{"a":3}${end}`);
      expect(lines.lines).toBe(3);
      expect(await lines.readJson([2, 1, 1])).toEqual([{ a: 3 }, { a: 'ü🙂' }, { a: 'ü🙂' }]);
    }
  });

  it('finds lines that cross the pieces of a big file', async () => {
    const big = 'x'.repeat(3 * 1024 * 1024);
    const lines = await index(`${JSON.stringify(big)}\n1\n${JSON.stringify(big)}\n2\n`);
    expect(lines.lines).toBe(4);
    expect(await lines.readJson([1, 3])).toEqual([1, 2]);
    expect((await lines.readJson<string>([2]))[0]).toHaveLength(big.length);
  });

  it('names the line that is not JSON or not there', async () => {
    const lines = await index('1\nnope\n');
    await expect(lines.readJson([1])).rejects.toThrow(/line 2 is not JSON/);
    await expect(lines.readJson([5])).rejects.toThrow(/has 2 lines, line 6/);
    expect((await index('')).lines).toBe(0);
  });
});
