import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { fixed, flag, type Flag } from './flag.js';

/** What Megatron must be told of a Qwen3 model; the frameworks keep it in `scripts/models/<model>.sh`. */
export interface ModelShape {
  layers: number;
  hiddenSize: number;
  ffnSize: number;
  heads: number;
  keyValueHeads: number;
  headSize: number;
  vocabulary: number;
  ropeBase: number;
  normEpsilon: number;
  tiedHead: boolean;
}

/** From the `config.json` of the pinned revisions, for command lines that are printed where the model is not. */
const KNOWN: Readonly<Record<string, ModelShape>> = {
  'Qwen/Qwen3-4B': {
    ...{ layers: 36, hiddenSize: 2560, ffnSize: 9728, heads: 32, keyValueHeads: 8, headSize: 128 },
    ...{ vocabulary: 151936, ropeBase: 1_000_000, normEpsilon: 1e-6, tiedHead: true },
  },
  'Qwen/Qwen3-0.6B': {
    ...{ layers: 28, hiddenSize: 1024, ffnSize: 3072, heads: 16, keyValueHeads: 8, headSize: 128 },
    ...{ vocabulary: 151936, ropeBase: 1_000_000, normEpsilon: 1e-6, tiedHead: true },
  },
};

/** Fields of `config.json`, by ours. */
const FIELDS = {
  layers: 'num_hidden_layers',
  hiddenSize: 'hidden_size',
  ffnSize: 'intermediate_size',
  heads: 'num_attention_heads',
  keyValueHeads: 'num_key_value_heads',
  headSize: 'head_dim',
  vocabulary: 'vocab_size',
  ropeBase: 'rope_theta',
  normEpsilon: 'rms_norm_eps',
} as const;

/**
 * Shape of the model: what its folder's `config.json` says, else what is known of the id.
 *
 * @throws PipelineError RecipeInvalid when neither tells, or the model is none that the launch recipes are made for
 */
export function modelShape(modelDir: string, id: string | undefined): ModelShape {
  const path = join(modelDir, 'config.json');
  const text = readIfThere(path);
  if (text !== undefined) return shapeOfConfig(text, path);
  const known = id !== undefined && Object.hasOwn(KNOWN, id) ? KNOWN[id] : undefined;
  if (known !== undefined) return known;
  throw new PipelineError(
    'RecipeInvalid',
    `the shape of the model ${id ?? modelDir} is not known: ${path} is not there`,
    {
      where: path,
      cure: `Download the model first, or take one of ${Object.keys(KNOWN).join(', ')}.`,
    }
  );
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new PipelineError('RecipeInvalid', `${path} cannot be read (${code ?? String(error)})`, { where: path });
  }
}

function shapeOfConfig(text: string, path: string): ModelShape {
  const config = parse(text);
  const missing = Object.values(FIELDS).filter((field) => typeof config[field] !== 'number');
  const problems = [
    ...(config['model_type'] === 'qwen3'
      ? []
      : [`model_type: expected "qwen3", found ${JSON.stringify(config['model_type'])}`]),
    ...missing.map((field) => `${field}: expected a number`),
  ];
  if (problems.length > 0)
    throw new PipelineError(
      'RecipeInvalid',
      `${path} is not the configuration of a Qwen3 model: ${problems.join('; ')}`,
      {
        problems,
        where: path,
        cure: 'The launch recipes are made for dense Qwen3 models.',
      }
    );
  const numbers = Object.fromEntries(Object.entries(FIELDS).map(([ours, field]) => [ours, config[field]]));
  return { ...(numbers as Omit<ModelShape, 'tiedHead'>), tiedHead: config['tie_word_embeddings'] === true };
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Megatron's flags for a shape. */
export function modelFlags(shape: ModelShape): Flag[] {
  const of = (name: string, value: number, why?: string) => flag(name, value, 'config.json of the model', why);
  return [
    ...fixed('--swiglu'),
    of('--num-layers', shape.layers),
    of('--hidden-size', shape.hiddenSize),
    of('--ffn-hidden-size', shape.ffnSize),
    of('--num-attention-heads', shape.heads),
    ...fixed('--group-query-attention'),
    of('--num-query-groups', shape.keyValueHeads),
    ...fixed('--use-rotary-position-embeddings', '--disable-bias-linear', ['--normalization', 'RMSNorm']),
    of('--norm-epsilon', shape.normEpsilon),
    of('--rotary-base', shape.ropeBase, 'rope_theta of the pinned model; another base is another model'),
    of('--vocab-size', shape.vocabulary),
    of('--kv-channels', shape.headSize),
    ...fixed('--qk-layernorm'),
    ...(shape.tiedHead
      ? []
      : [
          {
            name: '--untie-embeddings-and-output-weights',
            from: 'config.json of the model',
            why: 'its output head is its own',
          },
        ]),
  ];
}
