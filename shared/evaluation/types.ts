import type { Flavour, MemoryLimits } from '../contracts/trajectory.js';
import type { InferenceClient, InferenceProtocol, ServerFacts } from '../inference/types.js';
import type { EvaluationMode, EvaluationSample, EvaluationSummary } from '../scoring/evaluation-types.js';
import type { Tokenizer } from '../tokenizer/types.js';

/**
 * Part of a long context that mode `base` leaves out: `end` keeps its beginning (relax's evaluator), `middle` keeps as many
 * tokens of its beginning as of its end (MemAgent's own evaluation of models without a memory).
 */
export type ContextCut = 'end' | 'middle';

export interface EvaluateOptions {
  /** Converted data set (JSON Lines), or the rows as published (JSON list, JSONL, Parquet), which are converted first. */
  dataPath: string;
  /** Name of the data in the summary: relative, equal for every model that is compared. */
  dataName: string;
  /** JSON Lines of all samples, in the order of the data. A file of the same name with `.working` behind holds what is done so far. */
  samplesPath: string;
  summaryPath: string;
  client: InferenceClient;
  tokenizer: Tokenizer;
  /** Name of the evaluated weights in the summary. */
  modelName: string;
  /** Name of the tokenizer in the summary. */
  tokenizerName: string;
  limits: MemoryLimits;
  /** Rules of the memory between turns. Default relax, for every model, so that only the weights differ. */
  flavour?: Flavour;
  /** Default recurrent. */
  mode?: EvaluationMode;
  /** Which part of a context that does not fit is left out in mode `base`. Default end. */
  contextCut?: ContextCut;
  /** `enable_thinking` of the chat template; null leaves it unset. */
  enableThinking: boolean | null;
  /** Ablation: no turn sees the memory of the turns before. Default false. */
  emptyMemory?: boolean;
  temperature: number;
  topP: number;
  /** Default 1. */
  samplesPerItem?: number;
  /** Evaluate only the first items of the file. Default all. */
  items?: number;
  /** Samples in flight at once. Default 16. */
  concurrency?: number;
  /** Attempts of a sample whose requests failed, each from its beginning. Default 2. */
  attemptsPerSample?: number;
  /** Sampling seed. Default 0. null = send none: the server draws as it likes. */
  seed?: number | null;
  /** Stands for the training step in the sampling key, so that no two data sets share draws. Default 0. */
  datasetNumber?: number;
  /** Context length the server must have, tokens. Left out: whatever it has. */
  serverContext?: number;
  /** Longest prompt of mode `base`, tokens. Default: context length − final tokens. */
  maxInputTokens?: number;
  /** Path of the model the server must have loaded, or a name it serves. Left out: not checked. */
  expectedModelPath?: string;
  /** Weights version the server must have. Left out: not checked. */
  expectedWeightsVersion?: string;
  /** What else tells these weights from others, e.g. their SHA-256: earlier samples of other weights are not reused. */
  weightsIdentity?: string;
  /**
   * Refuse to write over results of other settings instead of replacing them: for people who type the settings. Default false.
   */
  keepOtherResults?: boolean;
  /**
   * Ids of the model, padding included (`vocab_size` of its config.json). Default: what the server says, else the tokenizer's.
   */
  modelVocabSize?: number;
  /** How the server was started, when we did it; part of the result's conditions. */
  serverLaunch?: ServerLaunch;
  signal?: AbortSignal;
  onProgress?: (progress: EvaluationProgress) => void;
}

export interface EvaluationProgress {
  /** Samples with a result, errors included. */
  done: number;
  total: number;
  errors: number;
  /** Of this call, without what earlier calls did. */
  samplesPerSecond: number;
  /** Over the samples done so far, percent. */
  subEmPct: number;
  boxedEmPct: number;
  /** Of the latest sample that has no result. */
  lastError?: string;
}

/** Settings that a server was started with, beside model, port and context length. */
export interface ServerLaunch {
  engine: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
}

/** What of the server belongs to the result: the same for the same server, wherever it runs. */
export interface ServerRecord {
  protocol: InferenceProtocol;
  context_length: number | null;
  weights_version: string | null;
  engine_version: string | null;
  sampling_defaults: ServerFacts['samplingDefaults'];
  /** `key` or `seed`: the same seed gives the same samples. `none`: the server ignores it. */
  seeding: ServerFacts['seeding'];
  /** Absent when somebody else started the server. */
  launch?: ServerLaunch;
}

/** The summary as it is stored: the reference's fields, ours, and what is needed to check it. */
export interface StoredSummary extends EvaluationSummary {
  flavour: Flavour;
  items: number;
  tokenizer_sha256: string;
  server: ServerRecord;
  /** Mode `base` only. */
  context_cut?: ContextCut;
  /** Only where it was: an ablation. */
  memory_emptied?: true;
  /** Tokens of all contexts, and how many of them were read: less exactly when a context was truncated. */
  context_tokens: number;
  tokens_read: number;
  /** Items with at least one right sample (sub_em), percent. Only with several samples an item. */
  pass_at_n_pct?: number;
  /** SHA-256 of everything that decides the result. */
  settings_sha256: string;
  /** SHA-256 of the samples file. */
  samples_sha256: string;
}

/** One line of the samples file. `item` and `sample` only with several samples an item. */
export interface StoredSample extends EvaluationSample {
  item?: number;
  sample?: number;
}

export interface EvaluationOutcome {
  summary: StoredSummary;
  samplesPath: string;
  summaryPath: string;
  server: ServerFacts;
  /** The files of an earlier call were complete: nothing was asked. */
  reused: boolean;
  /** Samples taken over from an interrupted call. */
  resumed: number;
  /** Wall time of this call. */
  seconds: number;
}
