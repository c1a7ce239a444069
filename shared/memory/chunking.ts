import type { MemoryLimits } from '../contracts/trajectory.js';
import { poolFor, LARGE_TEXT } from '../tokenizer/pool.js';
import type { Tokenizer } from '../tokenizer/types.js';
import { checkLimits } from './limits.js';
import type { PreparedContext } from './types.js';

export type ChunkLimits = Pick<MemoryLimits, 'chunkTokens' | 'maxChunks'>;

export interface ChunkedIds {
  /** Ids of each chunk that is read; all but the last have `chunkTokens` ids. */
  chunks: number[][];
  totalTokens: number;
  /** There were more than `maxChunks` chunks. */
  truncated: boolean;
}

/**
 * Cuts ids into consecutive chunks without overlap; the first `maxChunks` are kept.
 *
 * @throws PipelineError RecipeInvalid for a limit that is not positive
 */
export function chunkIds(ids: readonly number[], { chunkTokens, maxChunks }: ChunkLimits): ChunkedIds {
  checkLimits({ chunkTokens, maxChunks });
  const count = Math.ceil(ids.length / chunkTokens);
  const kept = Math.min(count, maxChunks);
  const chunks = Array.from({ length: kept }, (_, at) => ids.slice(at * chunkTokens, (at + 1) * chunkTokens));
  return { chunks, totalTokens: ids.length, truncated: count > maxChunks };
}

/** Tokenizes and cuts a context in this thread; a book-length context takes a second, see {@link prepareContext}. */
export function chunkContext(tokenizer: Tokenizer, context: string, limits: ChunkLimits): PreparedContext {
  const { chunks, totalTokens, truncated } = chunkIds(tokenizer.encode(context), limits);
  return {
    chunks: chunks.map((ids) => tokenizer.decode(ids, { skipSpecialTokens: true })),
    numChunks: chunks.length,
    totalTokens,
    tokensRead: chunks.reduce((sum, ids) => sum + ids.length, 0),
    truncated,
  };
}

/**
 * Tokenizes a context (without special tokens around it; the caller trims it if it wants to) and cuts it into chunks.
 * Do it once per context and give the result to all its trajectories.
 *
 * Long contexts are done in a worker thread.
 *
 * @throws PipelineError RecipeInvalid for a limit that is not positive
 */
export async function prepareContext(
  tokenizer: Tokenizer,
  context: string,
  limits: MemoryLimits,
  signal?: AbortSignal
): Promise<PreparedContext> {
  checkLimits(limits);
  if (context.length <= LARGE_TEXT) return chunkContext(tokenizer, context, limits);
  const { chunkTokens, maxChunks } = limits;
  return await poolFor(tokenizer).run({ kind: 'chunk', context, chunkTokens, maxChunks }, signal);
}
