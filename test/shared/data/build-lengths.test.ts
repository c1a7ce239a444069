import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildLengths } from '../../../shared/data/build-lengths.js';
import { convertFile } from '../../../shared/data/convert-file.js';
import { readHotpotFile } from '../../../shared/data/hotpotqa-items.js';

const SHARED = process.env['MEMAGENT_SHARED'] ?? resolve(import.meta.dirname, '../../../../shared');
const REAL = join(SHARED, 'data/hotpotqa/hotpot_real_60.json');

interface EvalRow {
  index: number;
  input: string;
  context: string;
  answers: string[];
  num_docs: number;
}

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-lengths-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function rowsOf(path: string): Promise<EvalRow[]> {
  return JSON.parse(await readFile(path, 'utf8')) as EvalRow[];
}

/** The documents of a context, numbers checked and removed. */
function documentsOf(context: string): string[] {
  return context.split(/\n\n(?=Document \d+:\n)/).map((document, at) => {
    const head = `Document ${at + 1}:\n`;
    expect(document.startsWith(head)).toBe(true);
    return document.slice(head.length);
  });
}

const pair = (title: string): [string, string[]] => [title, [`${title} one.`, ` ${title} two.`]];
const ITEMS = [
  {
    question: 'Q0',
    answer: 'A0',
    context: [pair('a'), pair('b'), pair('c')],
    supporting_facts: [
      ['a', 0],
      ['c', 1],
    ],
  },
  {
    question: 'Q1',
    answer: 'yes',
    context: { title: ['d', 'e'], sentences: [['d.'], ['e.', ' f.']] },
    supporting_facts: { title: ['e'], sent_id: [0] },
  },
  { question: '', answer: 'x', context: [pair('z')] },
  { question: 'Q3', answer: 'A3', context: [pair('a'), pair('g')], supporting_facts: [['g', 0]] },
];

describe('the length builder', () => {
  it('keeps all gold paragraphs, fills up with others, numbers and shuffles them', async () => {
    const source = join(folder, 'hotpot.json');
    await writeFile(source, JSON.stringify(ITEMS));
    const { files, skipped } = await buildLengths({ source, folder, lengths: [2, 5], seed: 1 });
    expect(skipped).toMatchObject({ total: 1, first: [{ row: 3, reason: 'wrong type' }] });
    expect(files.map(({ length, rows, repeatedDocuments }) => [length, rows, repeatedDocuments])).toEqual([
      [2, 3, 0],
      [5, 3, 0],
    ]);
    const [first, second] = await rowsOf(join(folder, 'eval_2.json'));
    expect(documentsOf(first?.context ?? '').sort()).toEqual(['a\na one. a two.', 'c\nc one. c two.']);
    expect(second).toMatchObject({ index: 1, input: 'Q1', answers: ['yes'], num_docs: 2 });
    expect(documentsOf(second?.context ?? '').sort()).toEqual(['d\nd.', 'e\ne. f.']);
    for (const row of await rowsOf(join(folder, 'eval_5.json'))) expect(new Set(documentsOf(row.context)).size).toBe(5);
  });

  it('refuses a length the file has too few paragraphs for, unless distractors may repeat', async () => {
    const source = join(folder, 'hotpot.json');
    await writeFile(source, JSON.stringify(ITEMS));
    await expect(buildLengths({ source, folder, lengths: [7], seed: 1 })).rejects.toMatchObject({
      type: 'DataInvalid',
      message: expect.stringContaining('has 6 different paragraphs for a context of 7 documents'),
    });
    const { files } = await buildLengths({ source, folder, lengths: [20], seed: 1, allowRepeats: true });
    expect(files[0]?.repeatedDocuments).toBe(3 * 14);
    const [row] = await rowsOf(join(folder, 'eval_20.json'));
    const documents = documentsOf(row?.context ?? '');
    expect(documents).toHaveLength(20);
    expect(documents.filter((text) => text.startsWith('a\n'))).toHaveLength(1);
  });

  it('refuses a length below the gold paragraphs, and a file without items', async () => {
    const source = join(folder, 'hotpot.json');
    await writeFile(source, JSON.stringify(ITEMS));
    await expect(buildLengths({ source, folder, lengths: [1], seed: 1 })).rejects.toMatchObject({
      type: 'RecipeInvalid',
    });
    await writeFile(source, JSON.stringify([{ question: 'Q', answer: 'A', context: 'plain text' }]));
    await expect(buildLengths({ source, folder, lengths: [5], seed: 1 })).rejects.toMatchObject({
      type: 'DataInvalid',
      message: expect.stringContaining(
        'has no HotpotQA item: "context" must be a list of [title, [sentence, …]] pairs'
      ),
    });
  });

  describe.skipIf(!existsSync(REAL))('over 60 real items (skipped: the folder of shared data is absent)', () => {
    it('gives contexts whose answers can be found, the same for the same seed', async () => {
      const { items } = await readHotpotFile(REAL);
      const built = await buildLengths({
        source: REAL,
        folder: join(folder, 'a'),
        lengths: [50, 200],
        items: 20,
        seed: 3,
      });
      const again = await buildLengths({
        source: REAL,
        folder: join(folder, 'b'),
        lengths: [50, 200],
        items: 60,
        seed: 3,
      });
      const other = await buildLengths({ source: REAL, folder: join(folder, 'c'), lengths: [50], items: 20, seed: 4 });
      expect(other.files[0]?.sha256).not.toBe(built.files[0]?.sha256);
      for (const [at, { path }] of built.files.entries()) {
        const rows = await rowsOf(path);
        expect((await rowsOf(again.files[at]?.path ?? '')).slice(0, 20)).toEqual(rows);
        for (const [index, row] of rows.entries()) {
          const documents = documentsOf(row.context);
          expect(new Set(documents).size).toBe(row.num_docs);
          for (const gold of items[index]?.gold ?? ['missing']) expect(documents).toContain(gold);
          const [answer = ''] = row.answers;
          if (answer !== 'yes' && answer !== 'no') expect(row.context).toContain(answer);
        }
        const places = rows.map((row, index) => documentsOf(row.context).indexOf(items[index]?.gold[0] ?? ''));
        expect(new Set(places).size).toBeGreaterThan(10);
      }
    });

    it('gives files that the converter takes whole', async () => {
      await buildLengths({ source: REAL, folder, lengths: [800], seed: 3, allowRepeats: true });
      const result = await convertFile({
        source: join(folder, 'eval_800.json'),
        output: join(folder, 'eval_800.jsonl'),
      });
      expect(result).toMatchObject({ written: 60, skipped: { total: 0 } });
    });
  });
});
