import { PipelineError } from '../contracts/pipeline-error.js';
import { printable } from '../inference/printable.js';
import { scoreResponse } from '../scoring/metrics.js';
import type { EvaluationItem } from './dataset.js';
import type { StoredSample } from './types.js';

/** Characters of an error kept in a sample. */
const MAX_ERROR_CHARACTERS = 2000;

/** What inference gave, before it is scored. */
export interface Inferred {
  response: string;
  numChunks: number;
  contextTruncated: boolean;
  memoryTokenLengths: number[];
  memories: string[];
  contextTokens: number;
  tokensRead: number;
}

/** Place of a sample in the evaluation. */
export interface SamplePlace {
  /** Position in the samples file. */
  index: number;
  item: number;
  /** Number of the sample within its item. */
  sample: number;
  samplesPerItem: number;
}

function identity({
  item,
  sample,
  samplesPerItem,
  index,
}: SamplePlace): Pick<StoredSample, 'index' | '_id' | 'item' | 'sample'> {
  if (samplesPerItem === 1) return { index, _id: String(item) };
  return { index, _id: `${item}-${sample}`, item, sample };
}

/** Record of a sample that was answered: scored by the rules that judge every model. */
export function answeredSample(place: SamplePlace, item: EvaluationItem, inferred: Inferred): StoredSample {
  return {
    ...identity(place),
    question: item.question,
    answer: item.answers[0] ?? '',
    answers: item.answers,
    ...scoreResponse(inferred.response, item.answers),
    response: inferred.response,
    num_chunks: inferred.numChunks,
    context_truncated: inferred.contextTruncated,
    memory_token_lengths: inferred.memoryTokenLengths,
    memories: inferred.memories,
    context_tokens: inferred.contextTokens,
    tokens_read: inferred.tokensRead,
  };
}

/** Record of a sample whose requests failed: zero scores and why. */
export function failedSample(
  place: SamplePlace,
  item: EvaluationItem,
  error: unknown,
  context: Pick<Inferred, 'contextTruncated' | 'contextTokens'>
): StoredSample {
  return {
    ...identity(place),
    question: item.question,
    answer: item.answers[0] ?? '',
    answers: item.answers,
    pred: '',
    judge_f1: 0,
    judge_em: 0,
    judge_sub_em: 0,
    judge_boxed_em: 0,
    response: '',
    num_chunks: 0,
    context_truncated: context.contextTruncated,
    memory_token_lengths: [],
    memories: [],
    context_tokens: context.contextTokens,
    tokens_read: 0,
    error: describeError(error),
  };
}

function describeError(error: unknown): string {
  const name = error instanceof PipelineError ? error.type : error instanceof Error ? error.name : 'Error';
  const message = error instanceof Error ? error.message : String(error);
  return printable(`${name}: ${message}`, MAX_ERROR_CHARACTERS);
}
