import type { EvaluationSummary } from '../../scoring/evaluation-types.js';
import { count, plural } from '../format.js';
import { html, type Html } from '../html.js';
import { datasetLabel, findEvaluation, type RunData } from '../run-data.js';
import { notice } from './parts.js';

/** One sentence for each data set with contexts that were longer than what was read; it goes with every such number. */
export function truncationNotices(data: RunData): Html[] {
  return data.datasets.flatMap((dataset) => {
    const summary = data.models
      .map((model) => findEvaluation(data, model, dataset)?.summary)
      .find((each) => (each?.contexts_truncated ?? 0) > 0);
    return summary === undefined ? [] : [notice(truncationSentence(datasetLabel(data, dataset), summary))];
  });
}

function truncationSentence(label: string, summary: EvaluationSummary): Html {
  const { contexts_truncated: truncated, total, max_chunks: chunks, chunk_tokens: tokens } = summary;
  return html`<strong>${label}: not full context.</strong> ${plural(truncated, 'context')} of ${count(total)} were
    longer than ${count(chunks)} chunks of ${count(tokens)} tokens; only their beginning was read, so these scores do
    not measure the whole length.`;
}
