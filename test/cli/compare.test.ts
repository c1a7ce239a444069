import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../shared/runtime/entry.js';
import { CONTROLLED_FIELDS } from '../../shared/scoring/compare.js';
import type { Verdict } from '../../shared/scoring/verdict.js';
import { evaluation } from '../shared/scoring/evaluations.js';
import { memagent, type CommandResult } from './support.js';

const CASES = join(process.env['MEMAGENT_SHARED'] ?? join(packageRoot(), '..', 'shared'), 'cases', 'compare.json');

let root: string;
let folder: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'memagent-compare-'));
});
afterAll(() => rm(root, { recursive: true }));

/** Solved of 100 samples at each length, and of 50 on the development set. */
const SCORES = { base: [10, 10, 5], vime: [58, 53, 30], relax: [60, 50, 30] } as const;
let copies = 0;

beforeEach(async () => {
  copies += 1;
  folder = join(root, `eval-${copies}`);
  for (const [model, [at4, at8, dev]] of Object.entries(SCORES)) {
    await write(model, 'eval_4', evaluation(100, at4));
    await write(model, 'eval_8', evaluation(100, at8));
    await write(model, 'dev', evaluation(50, dev));
  }
});

async function write(model: string, dataset: string, { summary, samples }: ReturnType<typeof evaluation>) {
  await cp(join(packageRoot(), 'recipes', 'laptop.json'), join(folder, model, 'unrelated.json'));
  const named = { ...summary, data_file: `data/${dataset}.jsonl` };
  await writeFile(join(folder, model, `${dataset}.summary.json`), JSON.stringify(named));
  const lines = (samples ?? []).map((sample) => `${JSON.stringify(sample)}\n`);
  await writeFile(join(folder, model, `${dataset}.jsonl`), lines.join(''));
}

async function change(path: string, fields: Record<string, unknown>): Promise<void> {
  const summary = JSON.parse(await readFile(join(folder, path), 'utf8')) as object;
  await writeFile(join(folder, path), JSON.stringify({ ...summary, ...fields }));
}

function compare(...options: string[]): Promise<CommandResult> {
  const [vime, relax, base] = ['vime', 'relax', 'base'].map((model) => join(folder, model)) as [string, string, string];
  return memagent(['compare', vime, relax, '--base', base, ...options]);
}

describe('memagent compare', () => {
  it('says passed with code 0, each comparison in a line', async () => {
    const { code, out } = await compare();
    expect(code).toBe(0);
    expect(out).toMatch(/✔ {2}eval_4 +sub_em +vime 58\.00 % +relax 60\.00 % +\+2\.00 /);
    expect(out).toMatch(/✔ {2}dev +boxed_em +base 10\.00 % +relax 60\.00 % +\+50\.00 /);
    expect(out).toContain('\nverdict: passed. Passed: vime and relax differ by at most 3 points');
  });

  it('says not passed with code 1 when the arms are too far apart or relax is not above the base', async () => {
    expect(await compare('--tolerance', '2.9')).toMatchObject({
      code: 1,
      out: expect.stringMatching(/✖ {2}eval_8/) as string,
    });
    await write('relax', 'dev', evaluation(50, 5));
    const { code, out } = await compare();
    expect(code).toBe(1);
    expect(out).toContain('on the development set relax (10 % boxed EM) is not above the frozen base (10 %)');
  });

  it.each(CONTROLLED_FIELDS.filter((field) => field !== 'data_file'))(
    'says not comparable with code 2 when %s differs',
    async (field) => {
      await change('relax/eval_8.summary.json', { [field]: field === 'total' ? 99 : 'something else' });
      const { code, out } = await compare();
      expect(code).toBe(2);
      expect(out).toMatch(new RegExp(`- Length 8: the models were not evaluated alike: ${field} is `));
    }
  );

  it.each([
    ['flavour', 'vime'],
    ['context_cut', 'middle'],
    ['memory_emptied', true],
    ['tokenizer_sha256', 'cd'.repeat(32)],
  ])('says the same when %s differs, which only our summaries have', async (field, value) => {
    const ours = { settings_sha256: 'ef'.repeat(32), flavour: 'relax', tokenizer_sha256: 'ab'.repeat(32) };
    for (const model of ['base', 'vime', 'relax']) await change(`${model}/eval_8.summary.json`, ours);
    expect((await compare()).code).toBe(0);
    await change('vime/eval_8.summary.json', { [field]: value });
    const { code, out } = await compare();
    expect(code).toBe(2);
    expect(out).toMatch(new RegExp(`- Length 8: the models were not evaluated alike: ${field} is `));
  });

  it('lists every reason why there is no verdict, not the first alone', async () => {
    await change('vime/eval_4.summary.json', { temperature: 0, errors: 3 });
    await rm(join(folder, 'base', 'dev.summary.json'));
    const { code, out } = await compare('--json');
    expect(code).toBe(2);
    const { reasons, outcome } = JSON.parse(out) as Verdict;
    expect(outcome).toBe('not-comparable');
    expect(reasons).toHaveLength(4);
    expect(reasons).toContain('The development set: base was not evaluated.');
  });

  it('never calls truncated contexts full', async () => {
    await write('relax', 'eval_8', evaluation(100, 50, { truncated: 7 }));
    const { out } = await compare();
    expect(out.split('\n').at(-1)).toContain(
      'At length 8, 7 of 100 contexts are longer than 64 chunks and only their beginning was read: this is not a full-context result.'
    );
    expect(out).not.toContain('Length 8: all');
  });

  it('judges the parts that there are files for, and says what was left out', async () => {
    const arms = await memagent(['compare', join(folder, 'vime'), join(folder, 'relax')]);
    expect(arms).toMatchObject({ code: 0, out: expect.stringContaining('The frozen base was not given') as string });
    const one = await memagent(['compare', join(folder, 'relax'), '--base', join(folder, 'base')]);
    expect(one).toMatchObject({ code: 0, out: expect.stringContaining('One arm was given') as string });
    expect((await memagent(['compare', join(folder, 'relax')])).code).toBe(2);
    expect((await compare('--lengths', '4,8,16')).out).toContain('- Length 16: relax was not evaluated.');
  });

  it('takes summaries without samples at their word, and says so', async () => {
    const files = ['vime', 'relax'].map((model) => join(folder, model, 'eval_4.summary.json'));
    await rm(join(folder, 'vime', 'eval_4.jsonl'));
    const { code, out } = await memagent(['compare', ...files]);
    expect(code).toBe(0);
    expect(out).toContain('vime 58.00 %');
    expect(out).toContain('taken at their word');
  });

  it('writes the verdict, the same bytes each time', async () => {
    const [first, second] = [join(folder, 'a.json'), join(folder, 'b.json')];
    await compare('--out', first);
    await compare('--out', second);
    const text = await readFile(first, 'utf8');
    expect(JSON.parse(text)).toMatchObject({ outcome: 'passed', pairs: { length: 2 } });
    expect(await readFile(second, 'utf8')).toBe(text);
  });

  it('says what is wrong with a path, a file or an option', async () => {
    const missing = await memagent(['compare', join(folder, 'nowhere'), join(folder, 'vime')]);
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining('Name summary files') as string });
    await writeFile(join(folder, 'vime', 'dev.summary.json'), '{"total": 5');
    expect((await compare()).err).toContain('dev.summary.json');
    expect((await compare('--metric', 'bleu')).code).toBe(2);
    expect((await compare('--tolerance', '-1')).code).toBe(2);
  });

  it.skipIf(!existsSync(CASES))('agrees with the reference on every case of two summaries', async () => {
    interface Case {
      id: string;
      input: { op: string; summaries: object[]; metric: string; tolerance_pp?: number };
      expected: { cli_exit: number | 'raises' };
    }
    const { cases } = JSON.parse(await readFile(CASES, 'utf8')) as { cases: Case[] };
    for (const { id, input, expected } of cases.filter(({ input: { summaries } }) => summaries.length === 2)) {
      const paths = [join(folder, 'first.json'), join(folder, 'second.json')] as const;
      for (const [at, path] of paths.entries()) await writeFile(path, JSON.stringify(input.summaries[at]));
      const metric = ['--metric', input.metric.replace(/_pct$/, '')];
      const args =
        input.op === 'pair'
          ? [`vime=${paths[0]}`, `relax=${paths[1]}`, '--tolerance', String(input.tolerance_pp)]
          : [`relax=${paths[1]}`, '--base', paths[0]];
      const { code } = await memagent(['compare', ...args, ...metric]);
      expect([id, code]).toEqual([id, expected.cli_exit === 'raises' ? 2 : expected.cli_exit]);
    }
  });
});
