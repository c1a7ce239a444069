import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JsonScanner } from '../../../shared/data/json-scanner.js';
import { pyJsonDumps } from '../../../shared/data/python/json-dumps.js';
import { readRows } from '../../../shared/data/read-rows.js';
import type { SourceRow } from '../../../shared/data/source-row.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-rows-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function put(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

async function read(path: string): Promise<SourceRow[]> {
  const rows: SourceRow[] = [];
  for await (const batch of readRows(path)) rows.push(...batch);
  return rows;
}

/** Rows as JSON text, malformed ones as their reason. */
async function texts(path: string): Promise<string[]> {
  return (await read(path)).map((row) => ('value' in row ? pyJsonDumps(row.value) : row.malformed));
}

describe('a JSON data file', () => {
  it('gives the elements of an array, or the values of an object whose values are all objects', async () => {
    expect(await texts(await put('a.json', ' [{"a": 1},\n "x", 2.0, [true, null] ]\n'))).toEqual([
      '{"a": 1}',
      '"x"',
      '2.0',
      '[true, null]',
    ]);
    expect(await texts(await put('b.json', '{"7": {"a": 1}, "3": {"a": 2}}'))).toEqual(['{"a": 1}', '{"a": 2}']);
    expect(await texts(await put('c.json', '{"input": "q", "context": {}}'))).toEqual([
      '{"input": "q", "context": {}}',
    ]);
    expect(await texts(await put('d.json', '[]'))).toEqual([]);
  });

  it('tells the row number and line of every row', async () => {
    const rows = await read(await put('lines.json', '[\n {"a":\n 1},\n\n {"a": 2}]'));
    expect(rows.map(({ row, line }) => [row, line])).toEqual([
      [1, 2],
      [2, 5],
    ]);
  });

  it('keeps integers, floats, big numbers and the order of keys apart as Python does', async () => {
    const text = '{"2": 1.0, "1": 1, "z": 123456789012345678901234567890, "a": 1e16, "b": -0.0, "c": NaN, "d": 1e400}';
    const expected =
      '{"2": 1.0, "1": 1, "z": 123456789012345678901234567890, "a": 1e+16, "b": -0.0, "c": NaN, "d": Infinity}';
    expect(await texts(await put('numbers.json', `[${text}]`))).toEqual([expected]);
  });

  it.each<[string, string | Uint8Array, RegExp]>([
    ['a byte order mark', '\ufeff[]', /line 1 column 1: the file starts with a byte order mark \(BOM\).*without BOM/],
    ['UTF-16', Buffer.from('\ufeff[]', 'utf16le'), /UTF-16.*iconv/],
    [
      'a trailing comma after the last row',
      '[\n {"a": 1},\n]',
      /line 2 column 10: trailing comma before the closing \]\. Remove that comma/,
    ],
    [
      'a trailing comma inside a row',
      '[\n {"ä": [1, 2 , ]}]',
      /line 2 column 14: trailing comma before the closing \]/,
    ],
    ['a trailing comma in a top-level object', '{"a": {},}', /line 1 column 9: trailing comma before the closing }/],
    ['a missing comma', '[{"a": 1}\n{"a": 2}]', /line 2 column 1: expected a comma or the closing \], found "{"/],
    ['a missing comma inside a row', '[\n{"é": "日本" "b": 2}]', /line 2 column 12: Expecting ',' delimiter/],
    [
      'single quotes',
      "[{'a': 1}]",
      /line 1 column 3: Expecting property name enclosed in double quotes\. JSON strings stand in double quotes/,
    ],
    [
      'a torn end',
      '[{"a": 1}, {"a": "x',
      /line 1 column 20: the file ends before its closing \], inside the value that starts on line 1\. It is torn/,
    ],
    ['an end after a comma', '[{"a": 1},', /the file ends before its closing \]/],
    [
      'JSON Lines under the wrong name',
      '{"a": {}}\n{"a": {}}',
      /line 2 column 1: there is more text after the end.*name the file \.jsonl/,
    ],
    [
      'a page of HTML',
      '<html>',
      /line 1 column 1: expected an array of rows, or an object whose values are rows, found "<"/,
    ],
    ['nothing at all', '', /the file is empty/],
    [
      'bytes that are not UTF-8',
      Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]),
      /line 1 column 2: the value that starts here is not UTF-8/,
    ],
    ['a key that is there twice', '{"a": {}, "b": {}, "a": {}}', /line 1 column 20: the key "a" is there twice/],
    ['a Git LFS pointer', 'version https://git-lfs.github.com/spec/v1\noid sha256:…', /Git LFS pointer.*git lfs pull/],
    ['a raw line break in a string', '["a\nb"]', /line 1 column 4: Invalid control character at/],
  ])('with %s is refused, naming the place and the cure', async (name, content, message) => {
    const path = await put(`bad ${name.replaceAll('/', '')}.json`, content);
    await expect(read(path)).rejects.toMatchObject({
      type: 'DataInvalid',
      message: expect.stringMatching(message),
      details: { where: path },
    });
  });

  it('is cut into the same elements wherever its pieces end', () => {
    const value = fc.jsonValue({ noUnicodeString: false });
    fc.assert(
      fc.property(
        fc.array(value, { maxLength: 6 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 0, max: 2 }),
        (values, size, indent) => {
          const bytes = Buffer.from(JSON.stringify(values, null, indent));
          const scanner = new JsonScanner('all');
          const found: unknown[] = [];
          for (let at = 0; at < bytes.length; at += size) {
            for (const element of scanner.push(bytes.subarray(at, at + size))) {
              found.push(JSON.parse((element.bytes as Buffer).toString()));
              expect(
                bytes.subarray(element.offset, element.offset + element.size).equals(element.bytes as Buffer)
              ).toBe(true);
            }
          }
          scanner.finishInput();
          expect(found).toEqual(JSON.parse(JSON.stringify(values)));
        }
      ),
      { seed: 5, numRuns: 300 }
    );
  });
});

describe('a JSON Lines file', () => {
  it('gives a row a line, counts malformed lines with their number, and passes over blank ones', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"a": 1}\r\n\n{"a": }\r{"a": 3}\n   \n'),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from('4'),
    ]);
    const rows = await read(await put('x.jsonl', bytes));
    expect(rows.map((row) => [row.row, row.line, 'malformed' in row ? row.malformed : pyJsonDumps(row.value)])).toEqual(
      [
        [1, 1, '{"a": 1}'],
        [2, 3, 'not JSON'],
        [3, 4, '{"a": 3}'],
        [4, 6, 'not UTF-8'],
        [5, 7, '4'],
      ]
    );
    expect(rows[1]).toMatchObject({ detail: 'Expecting value at character 7' });
  });

  it('with a byte order mark is refused', async () => {
    await expect(read(await put('bom.jsonl', '\ufeff{"a": 1}\n'))).rejects.toMatchObject({
      message: expect.stringContaining('BOM'),
    });
  });

  it('may hold one long line, deep nesting and huge numbers', async () => {
    const deep = '['.repeat(2000) + ']'.repeat(2000);
    const lines = [JSON.stringify({ a: 'x'.repeat(3_000_000) }), deep, '9'.repeat(5000), '9'.repeat(4300)];
    const found = await read(await put('huge.jsonl', lines.join('\n')));
    expect(found.map((row) => ('value' in row ? typeof row.value : `${row.malformed}: ${row.detail}`))).toEqual([
      'object',
      expect.stringMatching(/^not JSON: maximum recursion depth exceeded/),
      expect.stringMatching(/^not JSON: Exceeds the limit \(4300 digits\).*has 5000 digits/),
      'bigint',
    ]);
  });
});

describe('any data file', () => {
  it('that is missing, a folder, or of unknown form is refused', async () => {
    await expect(read(join(folder, 'none.json'))).rejects.toMatchObject({
      type: 'DataInvalid',
      message: expect.stringContaining('there is no such file'),
    });
    await expect(read(folder)).rejects.toMatchObject({
      type: 'DataInvalid',
      message: expect.stringContaining('not a file'),
    });
    const csv = await put('x.csv', 'a,b');
    await expect(read(csv)).rejects.toMatchObject({ message: expect.stringContaining('.parquet, .json, .jsonl') });
    expect(await readFile(csv, 'utf8')).toBe('a,b');
  });
});
