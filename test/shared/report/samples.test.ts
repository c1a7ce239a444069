import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunData } from '../../../shared/report/run-data.js';
import { collectSamples } from '../../../shared/report/samples/collect-samples.js';
import type { EvaluationSample } from '../../../shared/scoring/evaluation-types.js';
import { hugeText } from '../../fixtures/hostile.js';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'memagent-samples-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

function sample(index: number, change: Partial<EvaluationSample> = {}): EvaluationSample {
  return {
    index,
    _id: String(index),
    question: `question ${index}`,
    answer: '47',
    answers: ['47'],
    pred: '47',
    judge_f1: 1,
    judge_em: 1,
    judge_sub_em: 1,
    judge_boxed_em: 1,
    response: '\\boxed{47}',
    num_chunks: 3,
    context_truncated: false,
    memory_token_lengths: [2, 2, 2],
    memories: ['?', 'amber=47', 'amber=47'],
    context_tokens: 72,
    tokens_read: 72,
    ...change,
  };
}

/** A run with these samples of each model on each data set. */
async function runWith(evaluations: Record<string, Record<string, EvaluationSample[] | string>>): Promise<RunData> {
  const list = [];
  for (const [model, datasets] of Object.entries(evaluations)) {
    for (const [dataset, samples] of Object.entries(datasets)) {
      const samplesPath = join(directory, `${model}-${dataset}.jsonl`);
      const text = typeof samples === 'string' ? samples : samples.map((each) => `${JSON.stringify(each)}\n`).join('');
      await writeFile(samplesPath, text);
      list.push({ model, dataset, samplesPath });
    }
  }
  const models = Object.keys(evaluations);
  const datasets = [...new Set(list.map(({ dataset }) => dataset))];
  return {
    directory,
    name: 'run',
    arms: [],
    evaluations: list,
    models,
    datasets,
    sources: [],
    modelFiles: [],
    artifacts: [],
    problems: [],
  };
}

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

describe('samples for the page', () => {
  it('join the models on each item, and write a memory that stayed the same as 0', async () => {
    const lost = sample(0, {
      judge_sub_em: 0,
      judge_boxed_em: 0,
      judge_f1: 0.5,
      pred: '?',
      response: '\\boxed{?}',
      memories: ['?', '?', 'x'],
    });
    const data = await runWith({ base: { dev: [lost] }, relax: { dev: [sample(0), sample(1)] } });
    const { datasets, problems } = await collectSamples(data, 1_000_000);
    expect(problems).toEqual([]);
    expect(datasets).toMatchObject([{ name: 'dev', models: ['base', 'relax'], total: 2 }]);
    expect(datasets[0]?.items).toEqual([
      {
        i: 0,
        q: 'question 0',
        a: ['47'],
        n: 3,
        c: 72,
        t: 0,
        x: [
          { p: '?', s: 0, b: 0, f: 0.5, r: '\\boxed{?}', m: ['?', 0, 'x'] },
          { p: '47', s: 1, b: 1, f: 1, r: '\\boxed{47}', m: ['?', 'amber=47', 0] },
        ],
      },
      { i: 1, q: 'question 1', a: ['47'], n: 3, c: 72, t: 0, x: [null, expect.objectContaining({ s: 1 })] },
    ]);
  });

  it('keep several samples of one item apart', async () => {
    const data = await runWith({ relax: { dev: [sample(0), sample(0, { judge_sub_em: 0 }), sample(1)] } });
    const { datasets } = await collectSamples(data, 1_000_000);
    expect(datasets[0]?.items.map(({ i, x }) => [i, x[0]?.s])).toEqual([
      [0, 1],
      [0, 0],
      [1, 1],
    ]);
  });

  it('are cut to fit the budget before any is left out', async () => {
    const long = Array.from({ length: 20 }, (_, index) =>
      sample(index, { response: 'r'.repeat(5000), memories: ['m'.repeat(5000)] })
    );
    const data = await runWith({ relax: { dev: long } });
    const all = await collectSamples(data, 1_000_000);
    expect(all.textLimit).toBe(20_000);
    const cut = await collectSamples(data, 60_000);
    expect(cut.textLimit).toBe(700);
    expect(cut.datasets[0]?.items).toHaveLength(20);
    expect(sizeOf(cut.datasets)).toBeLessThan(60_000);
  });

  it('that fail or differ stay when not all fit, and no data set is left empty', async () => {
    const many = (change: (index: number) => Partial<EvaluationSample>): EvaluationSample[] =>
      Array.from({ length: 300 }, (_, index) => sample(index, change(index)));
    const differing = many((index) =>
      index === 250 ? { judge_sub_em: 0 } : index === 299 ? { error: 'HTTP 500' } : {}
    );
    const data = await runWith({
      base: { dev: differing, eval_4: many(() => ({})) },
      relax: { dev: many(() => ({})), eval_4: many(() => ({})) },
    });
    const { datasets } = await collectSamples(data, 20_000);
    const shown = datasets.find(({ name }) => name === 'dev')?.items.map(({ i }) => i) ?? [];
    expect(shown).toEqual(expect.arrayContaining([250, 299]));
    expect(shown.length).toBeLessThan(300);
    expect(datasets.find(({ name }) => name === 'eval_4')?.items.length).toBeGreaterThan(0);
    expect(datasets.map(({ total }) => total)).toEqual([300, 300]);
    expect(sizeOf(datasets)).toBeLessThan(20_000);
  });

  it('of 10 MB of hostile text change nothing but their own item', async () => {
    const huge = sample(1, { response: hugeText(10_000_000), memories: [hugeText(1_000_000)], pred: hugeText(1000) });
    const calm = [sample(0), sample(2)];
    const data = await runWith({ relax: { dev: [calm[0] as EvaluationSample, huge, calm[1] as EvaluationSample] } });
    const { datasets } = await collectSamples(data, 500_000);
    expect(sizeOf(datasets)).toBeLessThan(500_000);
    const [first, second, third] = datasets[0]?.items ?? [];
    expect(first?.x[0]?.r).toBe('\\boxed{47}');
    expect(third?.x[0]?.r).toBe('\\boxed{47}');
    expect(second?.x[0]?.r).toContain('characters left out');
    // At most 20,000 characters of it; one that nobody would see takes eight, e.g. ‹U+2028›.
    expect(second?.x[0]?.r.length).toBeLessThan(40_000);
  });

  it('from a torn file are those that are whole, and the torn ones are counted', async () => {
    const whole = JSON.stringify(sample(0));
    const data = await runWith({ relax: { dev: `${whole}\n{"index": 1, "pred\n\n"text"\n${whole.slice(0, 50)}` } });
    const { datasets, problems } = await collectSamples(data, 100_000);
    expect(datasets[0]?.items).toHaveLength(1);
    expect(problems).toEqual(['eval/relax/dev.jsonl has 3 lines that are no sample.']);
  });

  it('of a foreign evaluator, without our fields, are shown with what they have', async () => {
    const foreign = JSON.stringify({
      index: 0,
      _id: 'x',
      answer: 'Paris',
      pred: 'Paris',
      judge_sub_em: 1,
      response: '\\boxed{Paris}',
    });
    const data = await runWith({ relax: { dev: `${foreign}\n` } });
    const { datasets } = await collectSamples(data, 100_000);
    expect(datasets[0]?.items[0]).toMatchObject({ a: ['Paris'], q: '', n: 0, x: [{ p: 'Paris', s: 1, b: 0, m: [] }] });
  });
});
