/** Results of evaluating one model on one data set: one record a sample, and the summary over all of them. */

/** How the model saw the context: chunk by chunk with a memory, or once, cut to fit. */
export type EvaluationMode = 'recurrent' | 'base';

/** One evaluated sample. Field names are those of the reference evaluator; `judge_*` are 0 … 1. */
export interface EvaluationSample {
  /** Position in the data set, from 0. */
  index: number;
  /** Identity of the sample in its data set. */
  _id: string;
  question: string;
  /** First reference answer; f1, em and sub_em are measured against it. */
  answer: string;
  /** Every acceptable answer; boxed_em accepts any of them. */
  answers: string[];
  /** Answer extracted from the response. */
  pred: string;
  judge_f1: number;
  judge_em: number;
  judge_sub_em: number;
  judge_boxed_em: number;
  /** Text of the final turn, stop strings removed. */
  response: string;
  /** Chunks that were read. */
  num_chunks: number;
  /** True when the context had more than `max_chunks` chunks and its tail was never read. */
  context_truncated: boolean;
  /** Tokens of the memory after each memory turn. */
  memory_token_lengths: number[];
  /** Text of the memory after each memory turn. */
  memories: string[];
  /** Tokens of the whole context. */
  context_tokens: number;
  /** Context tokens that were read; less than `context_tokens` exactly when the context was truncated. */
  tokens_read: number;
  /** Why the sample has no result; its scores are then 0. Absent (or empty) for a successful sample. */
  error?: string;
}

/**
 * Scores over all samples. Means are over the FULL total: a failed request counts as zero. The percentages are what the
 * acceptance rule compares; every other field says under which conditions they were measured.
 */
export interface EvaluationSummary {
  total: number;
  successful: number;
  errors: number;
  f1: number;
  em: number;
  sub_em: number;
  boxed_em: number;
  /** Unit of all `_pct` fields: percent, 0 … 100. */
  f1_pct: number;
  em_pct: number;
  sub_em_pct: number;
  boxed_em_pct: number;
  mode: EvaluationMode;
  /** Name or identity of the evaluated weights; may differ between compared summaries. */
  model: string;
  /** Identity of the tokenizer (name or SHA-256). */
  tokenizer: string;
  /** Name of the evaluated file, the same for every compared model. */
  data_file: string;
  /** SHA-256 of the data file, taken before the first request. */
  data_sha256: string;
  evaluator_schema_version: string;
  temperature: number;
  top_p: number;
  /** Samples drawn for each item. */
  sampling_count: number;
  /** Sampling seed; null when the server takes none. */
  seed: number | null;
  /** `enable_thinking` of the chat template; null leaves it unset. */
  enable_thinking: boolean | null;
  chunk_tokens: number;
  max_memory_tokens: number;
  max_final_tokens: number;
  max_chunks: number;
  /** Longest prompt a request may have. Unit: tokens. */
  max_input_tokens: number;
  /** Context length of the serving engine. Unit: tokens. */
  server_max_model_len: number;
  /** Samples whose context had more than `max_chunks` chunks: only the beginning was read. */
  contexts_truncated: number;
}

/** Version of the evaluator's records and rules; raised when a change makes old and new summaries incomparable. */
export const EVALUATOR_SCHEMA_VERSION = 'memagent-eval-v1';
