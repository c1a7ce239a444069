import { chunkContext, chunkIds } from '../../memory/chunking.js';
import type { Tokenizer } from '../../tokenizer/types.js';
import { differences } from '../difference.js';
import type { ConformanceCase } from '../types.js';
import {
  project,
  refusalDifferences,
  sha256Ids,
  sha256Text,
  textOf,
  thrownBy,
  tokenizerChecker,
  type CaseText,
} from './tokenizer-cases.js';

interface Input {
  context: CaseText;
  context_sha256: string;
  chunk_tokens: number;
  max_chunks: number;
}

function chunksOf(input: Input, tokenizer: Tokenizer): unknown {
  const context = textOf(input.context);
  const limits = { chunkTokens: input.chunk_tokens, maxChunks: input.max_chunks };
  const { chunks, totalTokens, truncated } = chunkIds(tokenizer.encode(context), limits);
  const prepared = chunkContext(tokenizer, context, limits);
  return {
    total_tokens: totalTokens,
    num_chunks: prepared.numChunks,
    sizes: chunks.map((ids) => ids.length),
    context_truncated: truncated,
    chunks: chunks.map((ids, at) => {
      const text = prepared.chunks[at] ?? '';
      return { ids_sha256: sha256Ids(ids), text_sha256: sha256Text(text), ids, text };
    }),
    contains_replacement_character: prepared.chunks.some((text) => text.includes('\ufffd')),
  };
}

function check(testCase: ConformanceCase, tokenizer: Tokenizer): string[] {
  const input = testCase.input as Input;
  const expected = testCase.expected as { error?: { message: string } };
  const hash = differences(input.context_sha256, sha256Text(textOf(input.context)), 'input.context_sha256');
  if (expected.error !== undefined) {
    const error = thrownBy(() => chunksOf(input, tokenizer));
    return [...hash, ...refusalDifferences(expected.error, error)];
  }
  return [...hash, ...differences(expected, project(expected, chunksOf(input, tokenizer)), 'expected')];
}

/** Edges, sizes, ids and texts of a context's chunks. */
export const chunksChecker = tokenizerChecker('chunks.json', check);
