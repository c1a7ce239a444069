import type { StoredSummary } from './types.js';

/**
 * The sentence that goes with every score of contexts that were not read whole; undefined when all were.
 */
export function truncationSentence(summary: StoredSummary): string | undefined {
  const { contexts_truncated: truncated, total, context_tokens: tokens, tokens_read: read } = summary;
  if (truncated === 0) return undefined;
  const longer = `${truncated} of ${total} contexts ${truncated === 1 ? 'was' : 'were'} longer than`;
  const share = tokens === 0 ? '' : ` (${((read / tokens) * 100).toFixed(1)} % of all context tokens were read)`;
  return `Not full context: ${longer} ${limitWords(summary)}${share}, so these scores do not measure the whole length.`;
}

function limitWords(summary: StoredSummary): string {
  if (summary.mode === 'recurrent')
    return `${summary.max_chunks} chunks of ${summary.chunk_tokens} tokens, and only their beginning was read`;
  const kept = summary.context_cut === 'middle' ? 'beginning and end were' : 'beginning was';
  return `a prompt of ${summary.max_input_tokens} tokens, and only their ${kept} read`;
}
