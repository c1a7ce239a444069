import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prepareChecker } from '../../../shared/conformance/files/prepare.js';
import { runConformance } from '../../../shared/conformance/runner.js';
import { convertFile } from '../../../shared/data/convert-file.js';
import { convertOffThread, INLINE_BYTES } from '../../../shared/data/convert-off-thread.js';
import { convertRow } from '../../../shared/data/convert-row.js';
import { pyJsonDumps } from '../../../shared/data/python/json-dumps.js';
import { pyJsonLoads } from '../../../shared/data/python/json-loads.js';
import { PythonError } from '../../../shared/data/python/value.js';

const SHARED = process.env['MEMAGENT_SHARED'] ?? resolve(import.meta.dirname, '../../../../shared');
const CASES = join(SHARED, 'cases');

/** The line, or why there is none. */
function converted(row: unknown, flavour: 'relax' | 'vime' = 'relax'): string {
  try {
    const result = convertRow(pyJsonLoads(JSON.stringify(row)), flavour);
    return 'row' in result ? pyJsonDumps(result.row) : result.skipped;
  } catch (error) {
    if (error instanceof PythonError) return `${error.type}: ${error.message}`;
    throw error;
  }
}

describe('the converter of rows', () => {
  it.skipIf(!existsSync(CASES))(
    'repeats every prepare case of the reference (skipped: the case folder is absent)',
    async () => {
      const results = await runConformance(CASES, [prepareChecker]);
      expect(results.find(({ file }) => file === 'prepare.json')).toMatchObject({
        failed: 0,
        failures: [],
        passed: expect.any(Number),
      });
    }
  );

  it('says which of the three things a row lacks', () => {
    expect(converted({ input: 'q', answers: ['a'], context: ' \u3000' })).toBe('no context');
    expect(converted({ input: '  ', answers: ['a'], context: 'c' })).toBe('no question');
    expect(converted({ input: 'q', answers: ['', ' '], context: 'c' })).toBe('no answers');
    expect(converted({ context: 'c' })).toBe('no question');
  });

  it('raises what Python raises for fields of a wrong type', () => {
    const row = { context: 'c', prompt: 'q', reward_model: { ground_truth: ['a'] } };
    expect(converted({ ...row, reward_model: [1] })).toBe("AttributeError: 'list' object has no attribute 'get'");
    expect(converted({ ...row, reward_model: '{"ground_truth": }' })).toBe(
      'JSONDecodeError: Expecting value: line 1 column 18 (char 17)'
    );
    expect(converted({ ...row, reward_model: { ground_truth: null } })).toBe(
      "TypeError: 'NoneType' object is not iterable"
    );
    expect(converted({ ...row, extra_info: { num_docs: '5 docs' } })).toBe(
      "ValueError: invalid literal for int() with base 10: '5 docs'"
    );
    expect(converted({ ...row, context: [['t', 3]] })).toBe("TypeError: 'int' object is not iterable");
    expect(converted({ ...row, context: { title: null, sentences: [['s']] } })).toBe(
      "TypeError: object of type 'NoneType' has no len()"
    );
    expect(converted({ ...row, context: { sentences: { a: 1 } } })).toBe('KeyError: 0');
    expect(converted([row])).toBe("AttributeError: 'list' object has no attribute 'get'");
  });

  it('in vime’s variant trims nothing, keeps blank answers and has no question in the metadata', () => {
    const row = { input: ' q ', answers: ['a', ''], context: ' c\n', num_docs: 1.0, index: 0 };
    expect(converted(row, 'vime')).toBe(
      '{"prompt": " q ", "label": "a", "metadata": {"context": " c\\n", "ground_truth": ["a", ""], "num_docs": 1, "data_source": "hotpotqa"}}'
    );
    expect(converted(row)).toBe(
      '{"prompt": "q", "label": "a", "metadata": {"question": "q", "context": "c", "ground_truth": ["a"], "num_docs": 1, "data_source": "hotpotqa"}}'
    );
    const training = { context: 'c', prompt: [{ content: 'q' }], reward_model: 'not JSON', extra_info: null };
    expect(converted(training, 'vime')).toBe('no answers');
    expect(converted({ question: 'q', answer: 'a', context: 'c' }, 'vime')).toBe('no question');
  });
});

describe('the converter of files', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'memagent-convert-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const row = (index: number, context = 'c') =>
    JSON.stringify({ input: `q${index}`, answers: ['a'], context, num_docs: 1, index });
  const paths = () => ({ source: join(folder, 'in.jsonl'), output: join(folder, 'out/x.jsonl') });

  it('writes a line a row and counts every other row with reason, row and line', async () => {
    const bad = [
      '{"input":"q"}',
      '',
      '7',
      '{"a":',
      '{"context":[["t",1]],"input":"q"}',
      '{"input":"q","answers":["\\ud800"],"context":"c"}',
    ];
    await writeFile(paths().source, [row(0), ...bad, row(1)].join('\n'));
    const result = await convertFile(paths());
    const text = await readFile(paths().output, 'utf8');
    expect(text.split('\n')).toHaveLength(3);
    expect(result).toEqual({
      written: 2,
      rowsRead: 7,
      bytes: Buffer.byteLength(text),
      sha256: createHash('sha256').update(text).digest('hex'),
      skipped: {
        total: 5,
        reasons: { 'no context': 1, 'not JSON': 1, 'not an object': 1, 'not writable as UTF-8': 1, 'wrong type': 1 },
        first: [
          { row: 2, line: 2, reason: 'no context' },
          { row: 3, line: 4, reason: 'not an object', detail: 'the row is of Python type int' },
          { row: 4, line: 5, reason: 'not JSON', detail: 'Expecting value at character 6' },
          { row: 5, line: 6, reason: 'wrong type', detail: "TypeError: 'int' object is not iterable" },
          { row: 6, line: 7, reason: 'not writable as UTF-8', detail: 'a text has half of a surrogate pair' },
        ],
      },
    });
  });

  it('lists the first skipped rows only, but counts all', async () => {
    await writeFile(paths().source, `${row(0)}\n${'{"input":"q"}\n'.repeat(100)}`);
    const { skipped } = await convertFile(paths());
    expect(skipped).toMatchObject({ total: 100, reasons: { 'no context': 100 } });
    expect(skipped.first).toHaveLength(20);
  });

  it('keeps what a file had when the new source is not usable', async () => {
    await writeFile(paths().source, row(0));
    await convertFile(paths());
    const before = await readFile(paths().output, 'utf8');
    await writeFile(paths().source, '{"input":"q"}');
    await expect(convertFile(paths())).rejects.toMatchObject({
      type: 'DataInvalid',
      message: expect.stringContaining('has no usable row'),
    });
    expect(await readFile(paths().output, 'utf8')).toBe(before);
    expect(await readdir(join(folder, 'out'))).toEqual(['x.jsonl']);
  });

  it('names the folder when it may not write there', async () => {
    await writeFile(paths().source, row(0));
    await writeFile(join(folder, 'out'), 'a file in the way');
    await expect(convertFile(paths())).rejects.toMatchObject({
      type: 'StorageFailed',
      message: expect.stringContaining(paths().output),
    });
  });

  it('never prints control characters of a data file in an error', async () => {
    await writeFile(
      paths().source,
      '{"context":"c","prompt":"q","reward_model":{"ground_truth":["a"]},"extra_info":{"num_docs":"\\u001b[31m"}}'
    );
    const error = await convertFile(paths()).catch((caught: unknown) => caught as Error);
    expect((error as Error).message).toContain('wrong type');
    expect(JSON.stringify(error) + (error as Error).message).not.toContain('\u001b');
  });

  it('gives the same bytes, counts and errors from a worker thread as on the calling one', async () => {
    const context = 'word '.repeat(30_000);
    await writeFile(
      paths().source,
      `${Array.from({ length: 20 }, (_, index) => row(index, context)).join('\n')}\n{"x"\n`
    );
    expect(20 * context.length).toBeGreaterThan(INLINE_BYTES);
    const inline = await convertFile({ ...paths(), output: join(folder, 'inline.jsonl') });
    expect(await convertOffThread(paths())).toEqual(inline);
    expect((await readFile(paths().output)).equals(await readFile(join(folder, 'inline.jsonl')))).toBe(true);
    await writeFile(paths().source, `[${' '.repeat(INLINE_BYTES)},]`);
    const torn = { source: join(folder, 'torn.json'), output: paths().output };
    await writeFile(torn.source, `[${' '.repeat(INLINE_BYTES)}1,]`);
    await expect(convertOffThread(torn)).rejects.toMatchObject({
      name: 'PipelineError',
      type: 'DataInvalid',
      message: expect.stringContaining(`line 1 column ${INLINE_BYTES + 3}: trailing comma`),
      details: { where: torn.source },
    });
  });

  it('ends a worker thread at an abort, without leftovers', async () => {
    await writeFile(
      paths().source,
      Array.from({ length: 4000 }, (_, index) => row(index, 'word '.repeat(2000))).join('\n')
    );
    const aborting = new AbortController();
    const ports = { signal: aborting.signal, onProgress: () => aborting.abort(new Error('stop')) };
    await expect(convertOffThread(paths(), ports)).rejects.toThrow('stop');
    expect(await readdir(join(folder, 'out'))).toEqual([]);
  });
});
