import { aggregate } from '../../../shared/scoring/aggregate.js';
import type { EvaluationSummary } from '../../../shared/scoring/evaluation-types.js';
import type { DatasetEvaluation, JudgeInput, ModelEvaluations } from '../../../shared/scoring/verdict.js';

/** An evaluation of `total` samples of which the first `solved` are right. */
export function evaluation(
  total: number,
  solved: number,
  options: { truncated?: number; summary?: Partial<EvaluationSummary> } = {}
): DatasetEvaluation {
  const { truncated = 0 } = options;
  const samples = Array.from({ length: total }, (_, at) => {
    const score = at < solved ? 1 : 0;
    return {
      _id: `item-${at}`,
      pred: score === 1 ? 'x' : '',
      answer: 'x',
      judge_f1: score,
      judge_em: score,
      judge_sub_em: score,
      judge_boxed_em: score,
      context_truncated: at < truncated,
    };
  });
  const summary: EvaluationSummary = {
    ...aggregate(samples),
    mode: 'recurrent',
    model: 'weights',
    tokenizer: 'laptop',
    data_file: 'data/eval.jsonl',
    data_sha256: 'ab'.repeat(32),
    evaluator_schema_version: 'v1',
    temperature: 0.7,
    top_p: 0.95,
    sampling_count: 1,
    seed: 0,
    enable_thinking: null,
    chunk_tokens: 24,
    max_memory_tokens: 16,
    max_final_tokens: 8,
    max_chunks: 64,
    max_input_tokens: 120,
    server_max_model_len: 128,
    contexts_truncated: truncated,
    ...options.summary,
  };
  return { summary, samples };
}

/** One model on lengths 4 and 8 (100 samples each) and on the development set (50 samples). */
export function model(length4: number, length8: number, dev: number): Record<string, DatasetEvaluation> {
  return { eval_4: evaluation(100, length4), eval_8: evaluation(100, length8), dev: evaluation(50, dev) };
}

export function judgeInput(base: ModelEvaluations, relax: ModelEvaluations, vime: ModelEvaluations): JudgeInput {
  return {
    metric: 'sub_em',
    tolerancePoints: 3,
    lengths: [
      { dataset: 'eval_4', length: 4 },
      { dataset: 'eval_8', length: 8 },
    ],
    devDataset: 'dev',
    base,
    arms: [
      { name: 'relax', flavour: 'relax', evaluations: relax },
      { name: 'vime', flavour: 'vime', evaluations: vime },
    ],
  };
}
