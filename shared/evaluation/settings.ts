import { hashJson } from '../contracts/canonical-json.js';
import type { ServerFacts } from '../inference/types.js';
import { EVALUATOR_SCHEMA_VERSION } from '../scoring/evaluation-types.js';
import type { EvaluationData } from './dataset.js';
import type { ContextCut, EvaluateOptions, ServerLaunch, ServerRecord } from './types.js';

/** The evaluation with every default filled in, as far as it decides results. */
export interface EvaluationSettings {
  mode: 'recurrent' | 'base';
  /** Mode `base` only. */
  contextCut?: ContextCut;
  flavour: 'relax' | 'vime';
  samplesPerItem: number;
  /** null = requests carry no seed. */
  seed: number | null;
  datasetNumber: number;
  items: number;
  /** Context length of the server, tokens. */
  contextLength: number;
  maxInputTokens: number;
  /** Ids of the model, padding included. */
  modelVocabSize: number;
  server: ServerRecord;
  /** SHA-256 over all of it, the data and the weights' identity. */
  sha256: string;
}

/** Used where neither the caller nor the server says a context length: the recipe's default. */
const DEFAULT_CONTEXT = 8192;

export function evaluationSettings(
  options: EvaluateOptions,
  data: EvaluationData,
  facts: ServerFacts
): EvaluationSettings {
  const contextLength = facts.contextLength ?? options.serverContext ?? DEFAULT_CONTEXT;
  const mode = options.mode ?? 'recurrent';
  const settings = {
    mode,
    ...(mode === 'base' ? { contextCut: options.contextCut ?? 'end' } : {}),
    flavour: options.flavour ?? 'relax',
    samplesPerItem: options.samplesPerItem ?? 1,
    seed: options.seed === undefined ? 0 : options.seed,
    datasetNumber: options.datasetNumber ?? 0,
    items: data.items,
    contextLength,
    maxInputTokens: options.maxInputTokens ?? contextLength - options.limits.finalTokens,
    server: serverRecord(facts, options.serverLaunch),
  };
  // No part of the hash: it only decides which replies are errors.
  const modelVocabSize = options.modelVocabSize ?? facts.vocabSize ?? options.tokenizer.vocabSize;
  return { ...settings, modelVocabSize, sha256: settingsHash(options, data, settings) };
}

function serverRecord(facts: ServerFacts, launch: ServerLaunch | undefined): ServerRecord {
  return {
    protocol: facts.protocol,
    context_length: facts.contextLength,
    weights_version: facts.weightsVersion,
    engine_version: facts.engineVersion,
    sampling_defaults: facts.samplingDefaults,
    seeding: facts.seeding,
    ...(launch === undefined ? {} : { launch }),
  };
}

function settingsHash(
  options: EvaluateOptions,
  data: EvaluationData,
  settings: Omit<EvaluationSettings, 'sha256' | 'modelVocabSize'>
): string {
  const { chunkTokens, memoryTokens, finalTokens, maxChunks } = options.limits;
  return hashJson({
    ...settings,
    schema: EVALUATOR_SCHEMA_VERSION,
    data: data.sha256,
    dataName: options.dataName,
    model: options.modelName,
    weights: options.weightsIdentity ?? null,
    tokenizer: options.tokenizer.sha256,
    tokenizerName: options.tokenizerName,
    limits: { chunkTokens, memoryTokens, finalTokens, maxChunks },
    enableThinking: options.enableThinking,
    temperature: options.temperature,
    topP: options.topP,
    ...(options.emptyMemory === true ? { emptyMemory: true } : {}),
  });
}
