import { appendFile, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { evaluateDataset, type EvaluationProgress, type StoredSample } from '../../../shared/evaluation/evaluator.js';
import { Bench, LIMITS } from './support.js';

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.start();
});
afterEach(() => bench.stop());

async function samplesOf(path: string): Promise<StoredSample[]> {
  const text = await readFile(path, 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StoredSample);
}

describe('a calm evaluation', () => {
  it('reads every context chunk by chunk, scores every sample and sums up over the total', async () => {
    const dataPath = await bench.writeData(12);
    const outcome = await evaluateDataset(bench.options(dataPath, 'out'));
    const samples = await samplesOf(outcome.samplesPath);
    expect(samples.map((sample) => sample.index)).toEqual(Array.from({ length: 12 }, (_, i) => i));
    for (const sample of samples) {
      // 16 facts are 2 chunks of 24 tokens, 17 are 3; one token of the last separator is trimmed away.
      const facts = 16 + (sample.index % 2);
      expect(sample).toMatchObject({
        _id: String(sample.index),
        question: 'amber=',
        answer: '47',
        answers: ['47', '48'],
        num_chunks: Math.ceil(facts / 8),
        context_truncated: false,
        tokens_read: sample.context_tokens,
      });
      expect(sample.memories).toHaveLength(sample.num_chunks);
      expect(sample.memory_token_lengths).toHaveLength(sample.num_chunks);
      expect(sample.response).toBe(`\\boxed{${sample.pred}}`);
      expect(sample.judge_sub_em).toBe(sample.pred === '47' ? 1 : 0);
      expect(sample.judge_boxed_em).toBe(sample.pred === '49' ? 0 : 1);
      expect(sample).not.toHaveProperty('error');
    }
    const right = samples.filter((sample) => sample.judge_sub_em === 1).length;
    expect(outcome.summary).toMatchObject({
      total: 12,
      successful: 12,
      errors: 0,
      sub_em: right / 12,
      mode: 'recurrent',
    });
    expect(new Set(samples.map((sample) => sample.pred)).size).toBeGreaterThan(1);
  });

  it('writes a summary with the reference’s fields, and no path or time in it', async () => {
    const dataPath = await bench.writeData(3);
    const { summary, summaryPath } = await evaluateDataset(bench.options(dataPath, 'out', { serverContext: 1024 }));
    const stored = await readFile(summaryPath, 'utf8');
    expect(JSON.parse(stored)).toEqual(summary);
    expect(summary).toMatchObject({
      model: 'm',
      tokenizer: 'laptop',
      data_file: 'data.jsonl',
      data_sha256: createHash('sha256')
        .update(await readFile(dataPath))
        .digest('hex'),
      temperature: 0.7,
      top_p: 0.95,
      sampling_count: 1,
      chunk_tokens: 24,
      max_memory_tokens: 16,
      max_final_tokens: 8,
      max_chunks: 3,
      max_input_tokens: 1016,
      server_max_model_len: 1024,
      seed: 11,
      server: { protocol: 'sglang', weights_version: '100', seeding: 'key' },
    });
    expect(stored).not.toContain(bench.folder);
    expect(stored).not.toContain('127.0.0.1');
  });

  it('discloses contexts that were longer than it reads', async () => {
    const dataPath = await bench.writeData(2, 40);
    const { summary, samplesPath } = await evaluateDataset(bench.options(dataPath, 'out'));
    expect(summary.contexts_truncated).toBe(2);
    expect(summary.tokens_read).toBe(2 * LIMITS.maxChunks * LIMITS.chunkTokens);
    expect(summary.context_tokens).toBeGreaterThan(summary.tokens_read);
    expect((await samplesOf(samplesPath)).map((sample) => sample.context_truncated)).toEqual([true, true]);
  });

  it('keeps as many samples in flight as allowed, and tells how far it is', async () => {
    const own = await Bench.start({ latencyMs: 10 });
    const dataPath = await own.writeData(10);
    const progress: EvaluationProgress[] = [];
    await evaluateDataset(own.options(dataPath, 'out', { concurrency: 3, onProgress: (each) => progress.push(each) }));
    const { mostOpen } = await own.control();
    await own.stop();
    expect(mostOpen).toBe(3);
    expect(progress.map((each) => each.done)).toEqual(Array.from({ length: 10 }, (_, i) => i + 1));
    expect(progress.at(-1)).toMatchObject({ total: 10, errors: 0 });
  });

  it('takes several samples of an item and says how often one of them is right', async () => {
    const dataPath = await bench.writeData(4);
    const { summary, samplesPath } = await evaluateDataset(bench.options(dataPath, 'out', { samplesPerItem: 3 }));
    const samples = await samplesOf(samplesPath);
    expect(samples.map((sample) => sample._id).slice(0, 4)).toEqual(['0-0', '0-1', '0-2', '1-0']);
    const items = [0, 1, 2, 3].filter((item) => samples.some((each) => each.item === item && each.judge_sub_em === 1));
    expect(summary).toMatchObject({ total: 12, sampling_count: 3, items: 4, pass_at_n_pct: (items.length / 4) * 100 });
  });

  it('evaluates only the first items when asked to', async () => {
    const dataPath = await bench.writeData(9);
    const { summary } = await evaluateDataset(bench.options(dataPath, 'out', { items: 4 }));
    expect(summary.total).toBe(4);
  });

  it('reads rows as they are published, hashed as they are', async () => {
    const dataPath = join(bench.folder, 'eval_2.json');
    const rows = [0, 1].map((index) => ({
      input: 'amber=',
      answers: ['47'],
      context: 'amber=47;\n',
      num_docs: 1,
      index,
    }));
    await writeFile(dataPath, JSON.stringify(rows));
    const { summary, samplesPath } = await evaluateDataset(bench.options(dataPath, 'out'));
    expect(summary).toMatchObject({
      total: 2,
      data_sha256: createHash('sha256')
        .update(await readFile(dataPath))
        .digest('hex'),
    });
    expect((await samplesOf(samplesPath))[1]).toMatchObject({ _id: '1', answers: ['47'], num_chunks: 1 });
    expect(existsSync(`${samplesPath}.data`)).toBe(false);
  });
});

describe('the same bytes', () => {
  it('come out whatever the concurrency, so whatever the order of completion', async () => {
    const slow = await Bench.start({ latencyMs: 3 });
    const dataPath = await slow.writeData(16);
    const files: string[] = [];
    for (const concurrency of [1, 5, 16]) {
      const { samplesPath, summaryPath } = await evaluateDataset(
        slow.options(dataPath, `c${concurrency}`, { concurrency })
      );
      files.push((await readFile(samplesPath, 'utf8')) + (await readFile(summaryPath, 'utf8')));
    }
    await slow.stop();
    expect(files[1]).toBe(files[0]);
    expect(files[2]).toBe(files[0]);
  });

  it('come out of an evaluation that was interrupted again and again, and no finished sample is asked twice', async () => {
    const dataPath = await bench.writeData(20);
    const calm = await evaluateDataset(bench.options(dataPath, 'calm'));
    const calmAsked = (await bench.control()).asked;
    let interrupted = 0;
    for (;;) {
      const controller = new AbortController();
      const reason = new Error('interrupted');
      let finished = 0;
      const onProgress = (): void => {
        finished += 1;
        if (finished === 3) controller.abort(reason);
      };
      // One runner: an aborted sample is the only one that is asked again.
      const options = bench.options(dataPath, 'often', { concurrency: 1, onProgress, signal: controller.signal });
      const outcome = await evaluateDataset(options).catch((error: unknown) => error);
      if (outcome !== reason) break;
      interrupted += 1;
    }
    expect(interrupted).toBe(6);
    const read = (out: string, name: string) => readFile(join(bench.folder, out, name), 'utf8');
    expect(await read('often', 'm.jsonl')).toBe(await read('calm', 'm.jsonl'));
    expect(await read('often', 'm.summary.json')).toBe(await read('calm', 'm.summary.json'));
    const { asked } = await bench.control();
    for (const [sample, times] of Object.entries(asked)) expect(times).toBe((calmAsked[sample] as number) * 2);
    expect(calm.summary.errors).toBe(0);
  });

  it('come out after the last line was torn by a kill', async () => {
    const dataPath = await bench.writeData(8);
    const options = (out: string, signal?: AbortSignal, onProgress?: () => void) =>
      bench.options(dataPath, out, {
        concurrency: 1,
        ...(signal ? { signal } : {}),
        ...(onProgress ? { onProgress } : {}),
      });
    const calm = await evaluateDataset(options('calm'));
    const controller = new AbortController();
    let finished = 0;
    const stopAtFour = (): void => {
      finished += 1;
      if (finished === 4) controller.abort(new Error('killed'));
    };
    await expect(evaluateDataset(options('torn', controller.signal, stopAtFour))).rejects.toThrow('killed');
    const working = join(bench.folder, 'torn', 'm.jsonl.working');
    await truncate(working, (await stat(working)).size - 10);
    const outcome = await evaluateDataset(options('torn'));
    expect(outcome.resumed).toBe(3);
    expect(await readFile(outcome.samplesPath, 'utf8')).toBe(await readFile(calm.samplesPath, 'utf8'));
    expect(existsSync(working)).toBe(false);
  });

  it('come out when the working file ends with zeros, as after a power cut', async () => {
    const dataPath = await bench.writeData(5);
    const calm = await evaluateDataset(bench.options(dataPath, 'calm'));
    await bench.control({ failItems: [4] });
    await evaluateDataset(bench.options(dataPath, 'zeros'));
    await bench.control({ failItems: [] });
    await appendFile(join(bench.folder, 'zeros', 'm.jsonl.working'), `${'\0'.repeat(50)}\n${'\0'.repeat(20)}`);
    const outcome = await evaluateDataset(bench.options(dataPath, 'zeros'));
    expect(outcome.resumed).toBe(4);
    expect(await readFile(outcome.samplesPath, 'utf8')).toBe(await readFile(calm.samplesPath, 'utf8'));
  });
});

describe('an evaluation that is there already', () => {
  it('is not made again', async () => {
    const dataPath = await bench.writeData(4);
    await evaluateDataset(bench.options(dataPath, 'out'));
    const before = (await bench.control()).generated;
    const outcome = await evaluateDataset(bench.options(dataPath, 'out'));
    expect(outcome).toMatchObject({ reused: true, summary: { total: 4 } });
    expect((await bench.control()).generated).toBe(before);
  });

  it.each([
    ['another temperature', { temperature: 1 }],
    ['another seed', { seed: 12 }],
    ['other weights', { weightsIdentity: 'b' }],
    ['another limit', { limits: { ...LIMITS, maxChunks: 1 } }],
  ])('is made again for %s, from the beginning', async (_, change) => {
    const dataPath = await bench.writeData(4);
    await evaluateDataset(bench.options(dataPath, 'out'));
    const outcome = await evaluateDataset(bench.options(dataPath, 'out', change));
    expect(outcome).toMatchObject({ reused: false, resumed: 0 });
  });

  it('is made again when its samples were changed afterwards', async () => {
    const dataPath = await bench.writeData(4);
    const { samplesPath } = await evaluateDataset(bench.options(dataPath, 'out'));
    const good = await readFile(samplesPath, 'utf8');
    await writeFile(samplesPath, good.replace('"judge_em":0', '"judge_em":1'));
    await evaluateDataset(bench.options(dataPath, 'out'));
    expect(await readFile(samplesPath, 'utf8')).toBe(good);
  });
});

describe('request errors', () => {
  it('keep their samples with zeros and the error, over the full total, and are asked again in the next call', async () => {
    const dataPath = await bench.writeData(6);
    const calm = await evaluateDataset(bench.options(dataPath, 'calm'));
    await bench.control({ failItems: [2, 5], failWith: 400 });
    const failed = await evaluateDataset(bench.options(dataPath, 'out'));
    expect(failed.summary).toMatchObject({ total: 6, successful: 4, errors: 2 });
    const samples = await samplesOf(failed.samplesPath);
    expect(samples[2]).toMatchObject({ pred: '', judge_f1: 0, judge_sub_em: 0, judge_boxed_em: 0, response: '' });
    expect(samples[2]?.error).toMatch(/^GenerationFailed: .*no item 2/);
    expect(samples[2]?.context_tokens).toBeGreaterThan(0);

    const before = (await bench.control({ failItems: [] })).asked;
    const healed = await evaluateDataset(bench.options(dataPath, 'out'));
    const after = (await bench.control()).asked;
    expect(healed).toMatchObject({ resumed: 4, summary: { errors: 0 } });
    const again = Object.keys(after).filter((sample) => after[sample] !== before[sample]);
    expect(again.sort()).toEqual(['2/0', '5/0']);
    expect(await readFile(healed.samplesPath, 'utf8')).toBe(await readFile(calm.samplesPath, 'utf8'));
  });

  it('are tried the set number of times, each from the sample’s beginning', async () => {
    const dataPath = await bench.writeData(1);
    await bench.control({ failItems: [0], failWith: 400 });
    await evaluateDataset(bench.options(dataPath, 'out', { attemptsPerSample: 3 }));
    expect((await bench.control()).asked['0/0']).toBe(3);
  });

  it('of a server that is gone end the call before every sample has waited for it', async () => {
    const dataPath = await bench.writeData(200);
    let finished = 0;
    const onProgress = (): void => {
      finished += 1;
      if (finished === 5) void bench.control({ dead: true });
    };
    await expect(evaluateDataset(bench.options(dataPath, 'out', { onProgress }))).rejects.toMatchObject({
      type: 'EngineUnavailable',
    });
    expect(finished).toBeLessThan(100);
    await bench.control({ dead: false });
    const outcome = await evaluateDataset(bench.options(dataPath, 'out'));
    expect(outcome.summary).toMatchObject({ total: 200, errors: 0 });
    expect(outcome.resumed).toBeGreaterThanOrEqual(5);
  });
});

it('a server that is gone when the last samples are asked is no result, whatever their number', async () => {
  const dataPath = await bench.writeData(3);
  let finished = 0;
  const onProgress = (): void => {
    finished += 1;
    if (finished === 1) void bench.control({ dead: true });
  };
  const options = bench.options(dataPath, 'out', { onProgress, concurrency: 1 });
  await expect(evaluateDataset(options)).rejects.toMatchObject({ type: 'EngineUnavailable' });
  expect(existsSync(options.summaryPath)).toBe(false);
  await bench.control({ dead: false });
  await expect(evaluateDataset(bench.options(dataPath, 'out'))).resolves.toMatchObject({ summary: { errors: 0 } });
});

describe('refused before the first request', () => {
  it.each([
    [
      'another model',
      { expectedModelPath: '/models/other' },
      'model: the server has /models/m, expected /models/other',
    ],
    ['another context', { serverContext: 8192 }, 'context length: the server has 1024, expected 8192'],
    ['other weights', { expectedWeightsVersion: '7' }, 'weights version: the server has 100, expected 7'],
  ])('a server with %s', async (_, change, words) => {
    const dataPath = await bench.writeData(2);
    await expect(evaluateDataset(bench.options(dataPath, 'out', change))).rejects.toMatchObject({
      type: 'PinMismatch',
      message: expect.stringContaining(words) as string,
    });
    expect((await bench.control()).generated).toBe(0);
  });

  it('names every difference at once', async () => {
    const dataPath = await bench.writeData(2);
    const options = bench.options(dataPath, 'out', { expectedModelPath: '/x', serverContext: 1 });
    await expect(evaluateDataset(options)).rejects.toMatchObject({ details: { problems: { length: 2 } } });
  });

  it.each([
    ['is missing', undefined, 'cannot read the data'],
    ['is empty', '', 'has no rows'],
    [
      'has a row without answers',
      '{"prompt":"q","metadata":{"context":"c","ground_truth":[]}}\n',
      'row 1 is not a row',
    ],
  ])('data that %s', async (_, content, words) => {
    const dataPath = join(bench.folder, 'bad.jsonl');
    if (content !== undefined) await writeFile(dataPath, content);
    await expect(evaluateDataset(bench.options(dataPath, 'out'))).rejects.toMatchObject({
      type: 'DataInvalid',
      message: expect.stringContaining(words) as string,
    });
  });
});

describe('mode base', () => {
  it('asks once with the whole context when it fits', async () => {
    const dataPath = await bench.writeData(2);
    const { summary, samplesPath } = await evaluateDataset(bench.options(dataPath, 'out', { mode: 'base' }));
    expect((await bench.control()).asked).toEqual({ '0/0': 1, '1/0': 1 });
    expect(summary).toMatchObject({ mode: 'base', contexts_truncated: 0 });
    expect((await samplesOf(samplesPath))[0]).toMatchObject({ num_chunks: 1, memories: [], memory_token_lengths: [] });
  });

  it('cuts the context, never the question, so that prompt and answer fit the server', async () => {
    const dataPath = await bench.writeData(1, 2000);
    const { summary, samplesPath } = await evaluateDataset(bench.options(dataPath, 'out', { mode: 'base' }));
    const [sample] = await samplesOf(samplesPath);
    expect(summary.contexts_truncated).toBe(1);
    expect(sample?.tokens_read).toBeGreaterThan(500);
    expect(sample?.tokens_read).toBeLessThan(1024 - LIMITS.finalTokens);
  });

  it('says when the question alone is too long', async () => {
    const dataPath = await bench.writeData(1);
    const { samplesPath } = await evaluateDataset(bench.options(dataPath, 'out', { mode: 'base', maxInputTokens: 10 }));
    expect((await samplesOf(samplesPath))[0]?.error).toContain(
      'question and instruction alone have more than 10 tokens'
    );
  });
});
