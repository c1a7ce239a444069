import { readJsonLines } from '../../artifacts/json-lines.js';
import type { EvaluationSample } from '../../scoring/evaluation-types.js';

/**
 * Calls `onSample` for each line of a per-sample JSONL file, in the file's order.
 *
 * @returns lines that are no sample (torn, not JSON, without an index)
 */
export async function readSamples(path: string, onSample: (sample: EvaluationSample) => void): Promise<number> {
  let foreign = 0;
  const bad = await readJsonLines(path, (value) => {
    const sample = value as Partial<EvaluationSample> | null;
    if (typeof sample?.index === 'number') onSample(normalized(sample, sample.index));
    else foreign += 1;
  });
  return bad + foreign;
}

/** Fields that an older or foreign evaluator leaves out get the value that says "unknown". */
function normalized(value: Partial<EvaluationSample>, index: number): EvaluationSample {
  return {
    index,
    _id: text(value._id),
    question: text(value.question),
    answer: text(value.answer),
    answers: (Array.isArray(value.answers) ? value.answers : [value.answer]).map(text),
    pred: text(value.pred),
    judge_f1: score(value.judge_f1),
    judge_em: score(value.judge_em),
    judge_sub_em: score(value.judge_sub_em),
    judge_boxed_em: score(value.judge_boxed_em),
    response: text(value.response),
    num_chunks: score(value.num_chunks),
    context_truncated: value.context_truncated === true,
    memory_token_lengths: Array.isArray(value.memory_token_lengths) ? value.memory_token_lengths.map(score) : [],
    memories: Array.isArray(value.memories) ? value.memories.map(text) : [],
    context_tokens: score(value.context_tokens),
    tokens_read: score(value.tokens_read),
    ...(text(value.error) === '' ? {} : { error: text(value.error) }),
  };
}

function text(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : String(value as string | number);
}

function score(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
