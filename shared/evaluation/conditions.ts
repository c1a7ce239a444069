import { CONTROLLED_FIELDS, OWN_CONTROLLED_FIELDS } from '../scoring/compare.js';
import { EVALUATOR_SCHEMA_VERSION } from '../scoring/evaluation-types.js';
import type { EvaluationData } from './dataset.js';
import type { EvaluationSettings } from './settings.js';
import type { EvaluateOptions, StoredSummary } from './types.js';

/** Controlled fields but for the count of samples, which is the result's. */
type Controlled = Exclude<(typeof CONTROLLED_FIELDS)[number], 'total'>;

const FIELDS = [
  'model',
  ...CONTROLLED_FIELDS.filter((field): field is Controlled => field !== 'total'),
  ...OWN_CONTROLLED_FIELDS,
  'items',
  'server',
] as const;

/** The part of a summary that is known before the first sample: what was measured, and under which conditions. */
export type Conditions = Pick<StoredSummary, (typeof FIELDS)[number]>;

export function conditionsOf(options: EvaluateOptions, settings: EvaluationSettings, data: EvaluationData): Conditions {
  return {
    mode: settings.mode,
    model: options.modelName,
    tokenizer: options.tokenizerName,
    data_file: options.dataName,
    data_sha256: data.sha256,
    evaluator_schema_version: EVALUATOR_SCHEMA_VERSION,
    temperature: options.temperature,
    top_p: options.topP,
    sampling_count: settings.samplesPerItem,
    seed: settings.server.seeding === 'none' ? null : settings.seed,
    enable_thinking: options.enableThinking,
    chunk_tokens: options.limits.chunkTokens,
    max_memory_tokens: options.limits.memoryTokens,
    max_final_tokens: options.limits.finalTokens,
    max_chunks: options.limits.maxChunks,
    max_input_tokens: settings.maxInputTokens,
    server_max_model_len: settings.contextLength,
    flavour: settings.flavour,
    ...(settings.contextCut === undefined ? {} : { context_cut: settings.contextCut }),
    ...(options.emptyMemory === true ? { memory_emptied: true } : {}),
    items: settings.items,
    tokenizer_sha256: options.tokenizer.sha256,
    server: settings.server,
  };
}

/** What differs between the conditions of stored results and those of now, one line a field. */
export function conditionDifferences(stored: Partial<Conditions>, now: Conditions): string[] {
  return FIELDS.flatMap((field) => {
    const [there, here] = [JSON.stringify(stored[field]), JSON.stringify(now[field])];
    return there === here ? [] : [`${field}: ${there ?? '(none)'} there, ${here ?? '(none)'} now`];
  });
}
