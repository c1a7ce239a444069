import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DataManifest } from '../../shared/data/data-manifest.js';
import type { LengthsManifest } from '../../shared/data/lengths-manifest.js';
import { memagent } from './support.js';

let folder: string;
let hotpot: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-data-'));
  hotpot = join(folder, 'hotpot.json');
  const paragraphs = (item: number): [string, string[]][] =>
    Array.from({ length: 5 }, (_, i) => [`Title ${item}.${i}`, [`Sentence ${item}.${i}.`, ' And more.']]);
  const items = Array.from({ length: 6 }, (_, item) => ({
    _id: `id-${item}`,
    question: `Question ${item}?`,
    answer: `Answer ${item}`,
    supporting_facts: [
      [`Title ${item}.0`, 0],
      [`Title ${item}.3`, 0],
    ],
    context: paragraphs(item),
  }));
  await writeFile(hotpot, JSON.stringify([...items, { question: 'No answer?' }]));
});
afterAll(() => rm(folder, { recursive: true }));

async function sha256(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

async function json<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(path, 'utf8')) as T;
}

describe('memagent data convert', () => {
  it('writes rows, a manifest with both hashes, and says why rows were skipped', async () => {
    const source = join(folder, 'rows.jsonl');
    const out = join(folder, 'rows.out.jsonl');
    await writeFile(
      source,
      '{"input": " Where? ", "answers": ["here", " "], "context": "c"}\n{"input": "", "context": "c"}\nnot json\n'
    );
    const { code, out: text, err } = await memagent(['data', 'convert', source, '--out', out]);
    expect(code).toBe(0);
    expect(text).toContain(`${out}: 1 row of 3 read, SHA-256 ${await sha256(out)}`);
    expect(err).toMatch(/^skipped: 2 rows\n/);
    expect(err).toMatch(/row 3 \(line 3\): not JSON/);
    const manifest = await json<DataManifest>(`${out}.manifest.json`);
    expect(manifest.artifacts[0]).toMatchObject({
      filename: 'rows.jsonl',
      sha256: await sha256(source),
      converted: { path: 'rows.out.jsonl', sha256: await sha256(out), written_rows: 1, skipped_rows: 2 },
    });
    expect(JSON.stringify(manifest)).not.toContain(folder);
  });

  it('follows vime’s converter when asked to, and the manifest says so', async () => {
    const source = join(folder, 'trim.jsonl');
    await writeFile(source, '{"input": " Where? ", "answers": ["here"], "context": " c "}\n');
    const out = join(folder, 'vime.jsonl');
    const { code, out: text } = await memagent([
      'data',
      'convert',
      source,
      '--out',
      out,
      '--flavour',
      'vime',
      '--json',
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(text)).toMatchObject({ out, converted: { flavour: 'vime', written_rows: 1 } });
    expect(await json<{ prompt: string }>(out)).toMatchObject({ prompt: ' Where? ', metadata: { context: ' c ' } });
  });
});

describe('memagent data lengths', () => {
  it('makes the same bytes from the same seed, and others from another', async () => {
    const made: string[][] = [];
    for (const [name, seed] of [
      ['a', '7'],
      ['b', '7'],
      ['c', '8'],
    ] as const) {
      const out = join(folder, name);
      const { code, out: text } = await memagent([
        'data',
        'lengths',
        hotpot,
        '--documents',
        '4,20',
        '--out',
        out,
        '--seed',
        seed,
      ]);
      expect(code).toBe(0);
      made.push([await sha256(join(out, 'eval_4.json')), await sha256(join(out, 'eval_20.json'))]);
      expect(text).toContain(made.at(-1)?.[0]);
    }
    expect(made[1]).toEqual(made[0]);
    expect(made[2]).not.toEqual(made[0]);
    const manifest = await json<LengthsManifest>(join(folder, 'a', 'lengths.manifest.json'));
    expect(manifest).toMatchObject({
      source: { filename: 'hotpot.json', sha256: await sha256(hotpot) },
      seed: 7,
      files: [{ path: 'eval_4.json', documents: 4, rows: 6, sha256: made[0]?.[0] }, { documents: 20 }],
      skipped: { total: 1 },
    });
    expect(JSON.stringify(manifest)).not.toContain(folder);
  });

  it('makes files that the converter and the evaluator read', async () => {
    const out = join(folder, 'a', 'eval_4.jsonl');
    const { code, out: text } = await memagent(['data', 'convert', join(folder, 'a', 'eval_4.json'), '--out', out]);
    expect(code).toBe(0);
    expect(text).toContain('6 rows of 6 read');
  });

  it('says how to go on when there are too few paragraphs, and repeats distractors when allowed to', async () => {
    const command = ['data', 'lengths', hotpot, '--documents', '40', '--out', join(folder, 'many')];
    const { code, err } = await memagent(command);
    expect(code).toBe(1);
    expect(err).toMatch(/has 30 different paragraphs for a context of 40 documents.*--allow-repeats/);
    const repeated = await memagent([...command, '--allow-repeats']);
    expect(repeated.code).toBe(0);
    expect(repeated.out).toContain('60 repeated documents');
  });
});

describe('wrong use of memagent data', () => {
  it.each([
    [['convert', 'none.json', '--out', 'x.jsonl'], /there is no data file none\.json/],
    [['convert', 'package.json', '--out', 'package.json'], /package\.json is the source itself/],
    [['lengths', 'package.json', '--documents', '5,x', '--out', 'y'], /whole numbers ≥ 1 with commas/],
    [['convert', 'package.json'], /required option '--out <file>' not specified/],
  ])('%j ends with code 2 and says what is wrong', async (args, pattern) => {
    const { code, err } = await memagent(['data', ...args]);
    expect(err).toMatch(pattern);
    expect(code).toBe(2);
  });

  it('a file of another form is named with what rows need', async () => {
    const { code, err } = await memagent(['data', 'convert', 'package.json', '--out', join(folder, 'z.jsonl')]);
    expect(code).toBe(1);
    expect(err).toMatch(/has no usable row[^]*Every row needs a context/);
    expect(err).not.toMatch(/\n\s+at /);
  });
});
