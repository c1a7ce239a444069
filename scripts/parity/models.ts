import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parameterShapes } from '../../engines/embedded/model/parameters.js';
import type { NamedTensor, OptimizerOptions, Qwen3Config } from '../../engines/embedded/policy-api.js';
import { createPolicy, writeQwen3 } from '../../engines/embedded/policy.js';
import { PhiloxStream } from '../../shared/random/philox.js';

/** A model folder and the sequences whose logits are compared. */
export interface ParityModel {
  name: string;
  folder: string;
  sequences: number[][];
}

const LENGTHS = [1, 7, 33, 90];
export const MAX_SEQUENCE = 96;

/** Grouped queries, hidden ≠ heads · head_dim, odd vocabulary. */
const SMALL: Qwen3Config = {
  vocabSize: 173,
  hiddenSize: 40,
  layers: 3,
  heads: 6,
  kvHeads: 3,
  headDim: 16,
  intermediateSize: 56,
  ropeTheta: 1_000_000,
  rmsNormEps: 1e-5,
  tied: false,
  maxPositions: 128,
};

const SHAPES: Readonly<Record<string, Qwen3Config>> = {
  'untied, hidden 40 of 6 × 16, grouped queries': SMALL,
  'tied, one key/value head': { ...SMALL, tied: true, kvHeads: 1, ropeTheta: 10_000, rmsNormEps: 1e-6 },
  'tied, as many key/value heads as heads': { ...SMALL, tied: true, heads: 2, kvHeads: 2, headDim: 32, hiddenSize: 64 },
};

/** The two styles of config.json: of transformers 4 and 5. The engine's own file serves both. */
const STYLES: Readonly<Record<string, (config: Record<string, unknown>) => Record<string, unknown>>> = {
  'both styles': (config) => config,
  'older style': ({ rope_parameters: _, ...config }) => config,
  'newer style': ({ rope_theta: _, rope_scaling: __, torch_dtype: dtype, ...config }) => ({ ...config, dtype }),
};

/** Writes models with the engine: random ones of several shapes in all styles, and one after training steps. */
export async function writeModels(root: string): Promise<ParityModel[]> {
  const models: ParityModel[] = [];
  for (const [shape, config] of Object.entries(SHAPES)) {
    for (const [style, restyle] of Object.entries(STYLES)) {
      const folder = join(root, `model-${models.length}`);
      await writeQwen3(folder, { config, tensors: randomTensors(config, models.length) });
      const path = join(folder, 'config.json');
      const json = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
      await writeFile(path, JSON.stringify(restyle(json)));
      models.push({ name: `${shape}; ${style}`, folder, sequences: randomSequences(config.vocabSize) });
    }
  }
  const folder = join(root, 'trained');
  await writeQwen3(folder, { config: SMALL, tensors: await trained(SMALL) });
  models.push({ name: 'untied, after 20 training steps', folder, sequences: randomSequences(SMALL.vocabSize) });
  return models;
}

/** A configuration that transformers itself makes a model of, in several shards. */
export function foreignConfig(tied: boolean): Record<string, unknown> {
  return {
    vocab_size: 173,
    hidden_size: 40,
    num_hidden_layers: 3,
    num_attention_heads: 6,
    num_key_value_heads: 3,
    head_dim: 16,
    intermediate_size: 56,
    max_position_embeddings: 128,
    rms_norm_eps: 1e-5,
    rope_parameters: { rope_type: 'default', rope_theta: 500_000 },
    tie_word_embeddings: tied,
  };
}

export function randomSequences(vocabulary: number): number[][] {
  const random = new PhiloxStream(1);
  return LENGTHS.map((length) => Array.from({ length }, () => random.nextInt(vocabulary)));
}

function randomTensors(config: Qwen3Config, seed: number): NamedTensor[] {
  const random = new PhiloxStream(seed);
  return parameterShapes(config).map(({ name, shape }) => {
    const length = shape.reduce((product, size) => product * size, 1);
    const draw = (): number => (shape.length === 1 ? 1 + 0.2 * random.nextNormal() : 0.2 * random.nextNormal());
    return { name, shape, data: Float32Array.from({ length }, draw) };
  });
}

const OPTIMIZER: OptimizerOptions = {
  learningRate: 1e-3,
  beta1: 0.9,
  beta2: 0.98,
  epsilon: 1e-8,
  weightDecay: 0.1,
  gradientClip: 1,
};

async function trained(config: Qwen3Config): Promise<NamedTensor[]> {
  const policy = await createPolicy({ config, tensors: randomTensors(config, 99), maxSequence: MAX_SEQUENCE });
  const rows = randomSequences(config.vocabSize)
    .slice(1)
    .map((tokens) => ({ tokens, weights: tokens.map(() => 1 / tokens.length) }));
  for (let step = 0; step < 20; step += 1) policy.supervisedStep(rows, OPTIMIZER);
  return policy.weights();
}
