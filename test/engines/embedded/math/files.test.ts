import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseQwen3Config, qwen3ConfigJson } from '../../../../engines/embedded/model/config.js';
import { createPolicy, loadQwen3, tensorProblems, writeQwen3 } from '../../../../engines/embedded/policy.js';
import { bits, randomTensors, tensorBits, TINY } from './tiny.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qwen3-files-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const UNTIED = { ...TINY, tied: false, rmsNormEps: 1e-5, ropeTheta: 1e6 };

describe('Hugging Face files', () => {
  it.each([TINY, UNTIED])('come back as they were written, byte for byte the same each time', async (config) => {
    const tensors = randomTensors(config, 3);
    const written = await writeQwen3(folder, { config, tensors, tokens: { eos: 5, pad: 6 } });
    const loaded = await loadQwen3(folder);
    expect(loaded.config).toEqual(config);
    const byName = [...tensors].sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(tensorBits(loaded.tensors)).toBe(tensorBits(byName));
    const again = await writeQwen3(folder, { config, tensors: [...tensors].reverse(), tokens: { eos: 5, pad: 6 } });
    expect(again).toEqual(written);
    for (const { name, sha256, bytes } of written) {
      const content = await readFile(join(folder, name));
      expect(content.length).toBe(bytes);
      expect(createHash('sha256').update(content).digest('hex')).toBe(sha256);
    }
  });

  it('give the same log-probs from a policy as before they were written', async () => {
    const policy = await createPolicy({ config: TINY, tensors: randomTensors(TINY, 4) });
    await writeQwen3(folder, { config: policy.config, tensors: policy.weights() });
    const loaded = await createPolicy(await loadQwen3(folder));
    const rows = [{ tokens: [1, 2, 3, 4, 5], responseLength: 4 }];
    expect(bits(loaded.logProbs(rows, 1)[0]!)).toBe(bits(policy.logProbs(rows, 1)[0]!));
  });

  it('leave out the head of a tied model, as transformers does', async () => {
    const tensors = randomTensors(UNTIED, 3);
    await writeQwen3(folder, { config: TINY, tensors });
    const names = (await loadQwen3(folder)).tensors.map(({ name }) => name);
    expect(names).not.toContain('lm_head.weight');
    expect(names).toHaveLength(tensors.length - 1);
  });

  it('say what is wrong when config.json is missing or no JSON', async () => {
    await expect(loadQwen3(folder)).rejects.toMatchObject({ type: 'CheckpointInvalid', message: /config\.json/ });
    await writeFile(join(folder, 'config.json'), '{"model_type":');
    await expect(loadQwen3(folder)).rejects.toMatchObject({ type: 'CheckpointInvalid' });
  });
});

describe('config.json', () => {
  const json = qwen3ConfigJson(TINY);

  it('is read in the older and in the newer style', () => {
    const { rope_parameters: _, ...older } = json;
    const { rope_theta: __, torch_dtype: ___, ...newer } = json;
    expect(parseQwen3Config(older, 'x')).toEqual(TINY);
    expect(parseQwen3Config({ ...newer, dtype: 'float32' }, 'x')).toEqual(TINY);
  });

  it('lists everything that is missing or not supported', () => {
    const bad = {
      ...json,
      vocab_size: 0,
      num_key_value_heads: 3,
      hidden_act: 'gelu',
      attention_bias: true,
      head_dim: 5,
    };
    try {
      parseQwen3Config({ ...bad, rope_scaling: { rope_type: 'yarn' } }, 'x/config.json');
    } catch (error) {
      const { problems } = (error as { details: { problems: string[] } }).details;
      for (const part of [
        'vocab_size',
        'num_key_value_heads',
        'hidden_act',
        'attention_bias',
        'head_dim',
        'rope_scaling',
      ])
        expect(problems.join('\n')).toContain(part);
      return;
    }
    throw new Error('the config was accepted');
  });
});

describe('a model that is too large', () => {
  it('is refused with what to do', async () => {
    const config = { ...TINY, maxPositions: 40_960 };
    const policy = createPolicy({ config: { ...config, layers: 400 }, tensors: [], maxBatch: 64 });
    await expect(policy).rejects.toMatchObject({
      type: 'OutOfMemory',
      message: expect.stringMatching(/longest sequence/) as string,
    });
  });
});

describe('tensors that do not fit', () => {
  it('are all listed, and nothing is set', async () => {
    const policy = await createPolicy({ config: TINY, tensors: randomTensors(TINY, 1) });
    const before = tensorBits(policy.weights());
    const tensors = randomTensors(TINY, 2);
    tensors[1] = { ...tensors[1]!, shape: [1, tensors[1]!.data.length] };
    tensors[2]!.data[3] = NaN;
    const foreign = { name: 'model.extra', shape: [1], data: new Float32Array(1) };
    const list = [...tensors.slice(0, -1), foreign];
    expect(tensorProblems(TINY, list)).toEqual([
      expect.stringContaining('has shape'),
      expect.stringContaining('not finite'),
      'model.extra is foreign or given twice',
      'model.norm.weight is missing',
    ]);
    expect(() => policy.setWeights(list)).toThrow(/do not fit the model/);
    expect(tensorBits(policy.weights())).toBe(before);
  });
});
