import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readByteLines } from '../../../shared/artifacts/byte-lines.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-lines-'));
});
afterAll(() => rm(folder, { recursive: true }));

type Seen = [text: string | undefined, offset: number, length: number, isWhole: boolean];

async function linesOf(content: string | Buffer, longest?: number): Promise<Seen[]> {
  const path = join(folder, 'file');
  await writeFile(path, content);
  const seen: Seen[] = [];
  await readByteLines(
    path,
    ({ bytes, offset, length, isWhole }) => void seen.push([bytes?.toString('utf8'), offset, length, isWhole]),
    longest
  );
  return seen;
}

describe('the lines of a file', () => {
  it('come with their places, empty ones and one that nothing ends too', async () => {
    expect(await linesOf('one\n\nzwölf\r\n\u2028three')).toEqual([
      ['one', 0, 3, true],
      ['', 4, 0, true],
      ['zwölf\r', 5, 7, true],
      ['\u2028three', 13, 8, false],
    ]);
    expect(await linesOf('')).toEqual([]);
    expect(await linesOf('\n')).toEqual([['', 0, 0, true]]);
  });

  it('are whole however they lie in the pieces that are read', async () => {
    const lines = Array.from({ length: 40 }, (_, i) =>
      String.fromCharCode(97 + (i % 26)).repeat((i * 131_071) % 400_000)
    );
    lines[20] = 'x'.repeat(5 * 1024 * 1024 + 3);
    lines[30] = 'y'.repeat(1024 * 1024 - 1);
    const seen = await linesOf(lines.map((line) => `${line}\n`).join(''));
    expect(seen.map(([text]) => text)).toEqual(lines);
    let offset = 0;
    for (const [text, at] of seen) {
      expect(at).toBe(offset);
      offset += (text?.length ?? 0) + 1;
    }
  });

  it('are passed over where they are longer than wanted, and the next one is read', async () => {
    const long = 'x'.repeat(3_000_000);
    expect(await linesOf(`a\n${long}\nb\n${long}`, 1_000_000)).toEqual([
      ['a', 0, 1, true],
      [undefined, 2, 3_000_000, true],
      ['b', 3_000_003, 1, true],
      [undefined, 3_000_005, 3_000_000, false],
    ]);
  });

  it('are read no further than wanted', async () => {
    const path = join(folder, 'file');
    await writeFile(path, 'a\nb\nc\n');
    const seen: string[] = [];
    await readByteLines(path, ({ bytes }) => {
      seen.push(bytes?.toString() ?? '');
      return seen.length < 2;
    });
    expect(seen).toEqual(['a', 'b']);
    await expect(readByteLines(join(folder, 'missing'), () => undefined)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
