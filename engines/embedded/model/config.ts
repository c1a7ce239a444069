import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { Qwen3Config } from '../policy-api.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads a Hugging Face config.json of a Qwen3ForCausalLM, in the older style (`rope_theta`, `torch_dtype`) or the newer
 * (`rope_parameters`, `dtype`, transformers 5).
 *
 * @param where file name for messages
 * @throws PipelineError CheckpointInvalid listing everything that is missing or not supported
 */
export function parseQwen3Config(json: unknown, where: string): Qwen3Config {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw invalidConfig(where, ['it is not a JSON object']);
  const source = json as Json;
  const problems = unsupported(source);
  const count = (name: string, fallback?: number): number => {
    const value = source[name] ?? fallback;
    if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
    problems.push(`${name} is ${JSON.stringify(value)}, expected a positive integer`);
    return 1;
  };
  const positive = (name: string, value: unknown): number => {
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
    problems.push(`${name} is ${JSON.stringify(value)}, expected a positive number`);
    return 1;
  };
  const config: Qwen3Config = {
    vocabSize: count('vocab_size'),
    hiddenSize: count('hidden_size'),
    layers: count('num_hidden_layers'),
    heads: count('num_attention_heads'),
    kvHeads: count('num_key_value_heads'),
    // Defaults are those of transformers' Qwen3Config.
    headDim: count('head_dim', 128),
    intermediateSize: count('intermediate_size'),
    ropeTheta: positive('rope_theta', ropeParameters(source)['rope_theta'] ?? source['rope_theta'] ?? 10_000),
    rmsNormEps: positive('rms_norm_eps', source['rms_norm_eps'] ?? 1e-6),
    tied: source['tie_word_embeddings'] === true,
    maxPositions: count('max_position_embeddings', 32_768),
  };
  if (config.heads % config.kvHeads !== 0)
    problems.push(`num_attention_heads ${config.heads} is no multiple of num_key_value_heads ${config.kvHeads}`);
  if (config.headDim % 2 !== 0) problems.push(`head_dim ${config.headDim} is odd: rotary halves need an even one`);
  if (problems.length > 0) throw invalidConfig(where, problems);
  return config;
}

function ropeParameters(source: Json): Json {
  const value = source['rope_parameters'];
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

/** Features of the architecture that this engine does not have. */
function unsupported(source: Json): string[] {
  const problems: string[] = [];
  const expect = (name: string, value: unknown, allowed: unknown[]): void => {
    if (!allowed.includes(value)) problems.push(`${name} ${JSON.stringify(value)} is not supported`);
  };
  expect('model_type', source['model_type'], ['qwen3']);
  expect('hidden_act', source['hidden_act'], ['silu', undefined]);
  expect('attention_bias', source['attention_bias'], [false, undefined]);
  expect('use_sliding_window', source['use_sliding_window'], [false, undefined]);
  expect('rope_parameters.rope_type', ropeParameters(source)['rope_type'], ['default', undefined]);
  const scaling = source['rope_scaling'];
  const type = typeof scaling === 'object' && scaling !== null ? ((scaling as Json)['rope_type'] ?? 'unknown') : null;
  expect('rope_scaling', type, [null, 'default']);
  return problems;
}

function invalidConfig(where: string, problems: string[]): PipelineError {
  return new PipelineError('CheckpointInvalid', `${where} is no usable Qwen3 config: ${problems.join('; ')}`, {
    where,
    problems,
  });
}

/** config.json that transformers 4 and 5 both read: the rotary base is written in both styles. */
export function qwen3ConfigJson(config: Qwen3Config, tokens: SpecialTokens = {}): Record<string, unknown> {
  return {
    architectures: ['Qwen3ForCausalLM'],
    model_type: 'qwen3',
    vocab_size: config.vocabSize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    head_dim: config.headDim,
    hidden_act: 'silu',
    attention_bias: false,
    attention_dropout: 0,
    max_position_embeddings: config.maxPositions,
    rms_norm_eps: config.rmsNormEps,
    rope_theta: config.ropeTheta,
    rope_parameters: { rope_theta: config.ropeTheta, rope_type: 'default' },
    rope_scaling: null,
    use_sliding_window: false,
    sliding_window: null,
    tie_word_embeddings: config.tied,
    use_cache: true,
    torch_dtype: 'float32',
    bos_token_id: tokens.bos ?? null,
    eos_token_id: tokens.eos ?? null,
    pad_token_id: tokens.pad ?? null,
  };
}

/** Ids written to config.json; null where absent. */
export interface SpecialTokens {
  bos?: number | null;
  eos?: number | number[] | null;
  pad?: number | null;
}
