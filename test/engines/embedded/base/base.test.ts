import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { inductionInit } from '../../../../engines/embedded/base/initialization.js';
import { measure } from '../../../../engines/embedded/base/measure.js';
import { BASE_RECIPE, type BaseRecipe, pretrain } from '../../../../engines/embedded/base/pretrain.js';
import { PromptWriter } from '../../../../engines/embedded/base/prompt-writer.js';
import { recallRow, turnRow } from '../../../../engines/embedded/base/rows.js';
import type { Qwen3Config } from '../../../../engines/embedded/policy-api.js';
import { createPolicy, loadQwen3 } from '../../../../engines/embedded/policy.js';
import { END_ID } from '../../../../engines/embedded/tokenizer/build.js';
import { hashFile } from '../../../../shared/artifacts/atomic-file.js';
import { PhiloxStream } from '../../../../shared/random/philox.js';
import { loadTokenizer } from '../../../../shared/tokenizer/tokenizer.js';
import type { Tokenizer } from '../../../../shared/tokenizer/types.js';
import { LAPTOP } from '../support.js';

let tokenizer: Tokenizer;
let prompts: PromptWriter;
let config: Qwen3Config;

beforeAll(async () => {
  tokenizer = await loadTokenizer(LAPTOP);
  prompts = new PromptWriter(tokenizer);
  config = (await loadQwen3(LAPTOP)).config;
});

describe('rows of the base’s training', () => {
  const stream = (): PhiloxStream => new PhiloxStream(1, [3, 0, 0]);

  it('ask in recall for the value of a key that stood before, and for nothing else', () => {
    const random = stream();
    for (let i = 0; i < 50; i += 1) {
      const { tokens, targets } = recallRow(random, prompts);
      expect(tokens).toHaveLength(72);
      expect(targets.length).toBeGreaterThanOrEqual(24 - 12);
      for (const target of targets) {
        const key = tokens[target - 1]!;
        const before = tokens.indexOf(key);
        expect(before).toBeLessThan(target - 1);
        expect(tokens[before + 1]).toBe(tokens[target]);
      }
    }
  });

  it('end every response with the end token, and answer only what chunk or memory say', () => {
    const random = stream();
    const seen = new Set<string>();
    for (let i = 0; i < 300; i += 1) {
      const { tokens, targets } = turnRow(random, prompts, 0.5);
      expect(targets).toEqual(targets.map((_, at) => tokens.length - targets.length + at));
      expect(tokens.at(-1)).toBe(END_ID);
      const prompt = tokenizer.decode(tokens.slice(0, targets[0]));
      const response = tokenizer.decode(tokens.slice(targets[0]));
      const question = /<problem> ?\n(\w+=)\n/.exec(prompt)![1]!;
      const value = /(?:=|\{)(\d\d|\?)\}?$/.exec(response)![1]!;
      if (value === '?') seen.add('unknown');
      else {
        seen.add('known');
        expect(prompt).toContain(`${question}${value}`);
      }
      seen.add(prompt.includes('<problem> \n') ? 'training' : 'evaluation');
    }
    expect(seen).toEqual(new Set(['known', 'unknown', 'training', 'evaluation']));
  });

  it('never lose a fact when nobody is careless, and lose half of them at 0.5', () => {
    const share = (carelessness: number): number => {
      const random = stream();
      let [known, kept] = [0, 0];
      for (let i = 0; i < 600; i += 1) {
        const { tokens, targets } = turnRow(random, prompts, carelessness);
        const prompt = tokenizer.decode(tokens.slice(0, targets[0]));
        const question = /<problem> ?\n(\w+=)\n/.exec(prompt)![1]!;
        if (!prompt.includes('<section>') || !new RegExp(`${question}\\d`).test(prompt)) continue;
        known += 1;
        if (tokenizer.decode(tokens.slice(targets[0])) !== `${question}?`) kept += 1;
      }
      return kept / known;
    };
    expect(share(0)).toBe(1);
    expect(share(0.5)).toBeGreaterThan(0.4);
    expect(share(0.5)).toBeLessThan(0.6);
  });
});

describe('the base model', () => {
  it('is made again with the same bits by the same seed, and otherwise by another', async () => {
    const short: BaseRecipe = { ...BASE_RECIPE, steps: 3, recallRows: 4, turnRows: 8 };
    const make = async (seed: number): Promise<Buffer> => {
      const policy = await createPolicy({
        config,
        tensors: inductionInit(config, seed),
        maxSequence: 128,
        maxBatch: 4,
      });
      pretrain(policy, prompts, { ...short, seed });
      return Buffer.concat(
        policy.weights().map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength))
      );
    };
    const first = await make(5);
    expect((await make(5)).equals(first)).toBe(true);
    expect((await make(6)).equals(first)).toBe(false);
  });

  it('starts with an induction head: a value is found by its key before anything was learned', async () => {
    // With the head, the right value's log-prob rises above that of the other values seen; copying it out is learned later.
    const policy = await createPolicy({ config, tensors: inductionInit(config, 5), maxSequence: 128, maxBatch: 1 });
    const random = new PhiloxStream(9, [3, 0, 0]);
    let loss = Infinity;
    for (let step = 0; step < 60; step += 1) {
      const rows = Array.from({ length: 16 }, () => recallRow(random, prompts));
      const total = rows.reduce((sum, { targets }) => sum + targets.length, 0);
      const weighted = rows.map(({ tokens, targets }) => ({
        tokens,
        weights: tokens.map((_, at) => (targets.includes(at) ? 1 / total : 0)),
      }));
      loss = policy.supervisedStep(weighted, {
        learningRate: 2e-3,
        beta1: 0.9,
        beta2: 0.98,
        epsilon: 1e-8,
        weightDecay: 0,
        gradientClip: 1,
      }).loss;
    }
    // Guessing among the values of the row would be log(7) = 1.9 nats and more; 60 steps of plain weights do not get there.
    expect(loss).toBeLessThan(1);
  });

  it('is the committed one that its card names', async () => {
    const card = readFileSync(join(LAPTOP, 'README.md'), 'utf8');
    for (const name of ['model.safetensors', 'tokenizer.json']) {
      const { sha256, bytes } = await hashFile(join(LAPTOP, name));
      expect(card).toContain(`SHA-256 of \`${name}\`: \`${sha256}\``);
      expect(bytes).toBeLessThan(2_000_000);
    }
  });

  it('leaves room to learn and something to learn from', async () => {
    const { tensors } = await loadQwen3(LAPTOP);
    const policy = await createPolicy({ config, tensors, maxSequence: 128 });
    const options = { items: 256, chunks: 4, topP: 1, seed: 2 };
    const sampled = await measure(policy, tokenizer, { ...options, temperature: 1 });
    const greedy = await measure(policy, tokenizer, { ...options, temperature: 0 });
    expect(sampled.success).toBeGreaterThan(0.15);
    expect(sampled.success).toBeLessThan(0.4);
    expect(greedy.success).toBeGreaterThan(sampled.success);
    expect(greedy.success).toBeLessThan(0.7);
    expect(sampled.ended).toBeGreaterThan(0.99);
  });
});
