import { compareBaseline, comparePair, summaryValues } from './compare.js';
import { comparable, namedModels } from './judge-checks.js';
import { asksFor, namedDatasets, type NamedDataset } from './judge-words.js';
import { subExactMatch } from './metrics.js';
import { pairedStatistics, type PairedStatistics } from './statistics.js';
import type {
  AcceptanceMetric,
  ArmEvaluations,
  BaselineRow,
  ContextRow,
  DatasetEvaluation,
  JudgeInput,
  PairRow,
  RewardRow,
  SampleScore,
  ScoreRow,
} from './verdict-types.js';

/** The pair rule for every length and every two arms; a length that cannot be compared has no row. */
export function pairRows(input: JudgeInput): PairRow[] {
  if (!asksFor(input, 'pairs')) return [];
  return namedDatasets(input).flatMap((dataset) => {
    if (dataset.length === null) return [];
    const length = dataset.length;
    return armPairs(input.arms).flatMap(([first, second]) => {
      const [a, b] = [first.evaluations[dataset.dataset], second.evaluations[dataset.dataset]];
      if (a === undefined || b === undefined || !comparable(a, b, input.metric)) return [];
      const tolerance = input.tolerancePoints;
      const pair = comparePair(summaryValues(a.summary), summaryValues(b.summary), `${input.metric}_pct`, tolerance);
      return {
        dataset: dataset.dataset,
        length,
        metric: input.metric,
        first: first.name,
        second: second.name,
        first_pct: pair.first,
        second_pct: pair.second,
        gap_points: pair.gapPoints,
        tolerance_points: tolerance,
        passed: pair.passed,
        statistics: statisticsOf(a, b, input.metric, tolerance),
      };
    });
  });
}

/** Every two arms, vime before relax: the reference takes vime as the one that relax is measured against. */
function armPairs(arms: readonly ArmEvaluations[]): [ArmEvaluations, ArmEvaluations][] {
  const ordered = [...arms].sort((a, b) => Number(a.flavour === 'relax') - Number(b.flavour === 'relax'));
  return ordered.flatMap((first, at) => {
    return ordered.slice(at + 1).map((second): [ArmEvaluations, ArmEvaluations] => [first, second]);
  });
}

/** Arms that must be above the base: those of flavour relax, or all when there is none. */
export function requiredArms(arms: readonly ArmEvaluations[]): ArmEvaluations[] {
  const relax = arms.filter((arm) => arm.flavour === 'relax');
  return relax.length > 0 ? relax : [...arms];
}

/** The baseline rule for every arm and data set; what cannot be compared has no row. */
export function baselineRows(input: JudgeInput): BaselineRow[] {
  if (!asksFor(input, 'baselines')) return [];
  const required = new Set(requiredArms(input.arms));
  return input.arms.flatMap((arm) => {
    return namedDatasets(input).flatMap((dataset) => {
      const row = baselineRow(input, arm, dataset);
      return row === null ? [] : { ...row, required: required.has(arm) };
    });
  });
}

function baselineRow(
  input: JudgeInput,
  arm: ArmEvaluations,
  dataset: NamedDataset
): Omit<BaselineRow, 'required'> | null {
  const [base, trained] = [input.base[dataset.dataset], arm.evaluations[dataset.dataset]];
  if (base === undefined || trained === undefined || !comparable(base, trained, dataset.metric)) return null;
  const metric = dataset.metric;
  const result = compareBaseline(summaryValues(base.summary), summaryValues(trained.summary), `${metric}_pct`);
  return {
    dataset: dataset.dataset,
    length: dataset.length,
    metric,
    arm: arm.name,
    base_pct: result.base,
    trained_pct: result.trained,
    improvement_points: result.improvementPoints,
    passed: result.passed,
    statistics: statisticsOf(base, trained, metric, null),
  };
}

function statisticsOf(
  first: DatasetEvaluation,
  second: DatasetEvaluation,
  metric: AcceptanceMetric,
  tolerance: number | null
): PairedStatistics | null {
  if (first.samples === null || second.samples === null) return null;
  return pairedStatistics(scores(first.samples, metric), scores(second.samples, metric), tolerance);
}

/** A failed sample counts as 0, as in the summary. */
function scores(samples: readonly SampleScore[], metric: AcceptanceMetric): number[] {
  return samples.map((sample) => (failed(sample) ? 0 : sample[`judge_${metric}`]));
}

function failed(sample: SampleScore): boolean {
  return sample.error !== undefined && sample.error !== '';
}

/** How much of the contexts was read, by the model whose contexts were cut most often. */
export function contextRows(input: JudgeInput): ContextRow[] {
  return namedDatasets(input).flatMap(({ dataset, length }) => {
    const evaluations = namedModels(input).flatMap((model) => model.evaluations[dataset] ?? []);
    const [first] = evaluations;
    if (first === undefined) return [];
    const beyond = Math.max(...evaluations.map(truncatedContexts));
    return {
      dataset,
      length,
      samples: first.summary.total,
      max_chunks: first.summary.max_chunks,
      beyond_max_chunks: beyond,
      full_context: beyond === 0,
    };
  });
}

/** Counted from the samples and from the summary: neither may hide the other's. */
function truncatedContexts({ summary, samples }: DatasetEvaluation): number {
  return Math.max(summary.contexts_truncated, (samples ?? []).filter((sample) => sample.context_truncated).length);
}

/** Scores of every model on every data set. */
export function scoreRows(input: JudgeInput): ScoreRow[] {
  return namedModels(input).flatMap((model) => {
    return namedDatasets(input).flatMap(({ dataset, length }) => {
      const evaluation = model.evaluations[dataset];
      if (evaluation === undefined) return [];
      const { total, successful, errors, f1_pct, em_pct, sub_em_pct, boxed_em_pct } = evaluation.summary;
      const counts = { total, successful, errors, f1_pct, em_pct, sub_em_pct, boxed_em_pct };
      return { model: model.name, dataset, length, ...counts, vime_sub_em_pct: vimeSubEm(evaluation) };
    });
  });
}

function vimeSubEm({ samples }: DatasetEvaluation): number | null {
  const successful = (samples ?? []).filter((sample) => !failed(sample));
  if (successful.length === 0) return null;
  const sum = successful.reduce((total, { pred, answer }) => total + subExactMatch(pred, answer, 'vime'), 0);
  return (sum / successful.length) * 100;
}

/** Reward trend of every arm whose series is known. */
export function rewardRows(input: JudgeInput): RewardRow[] {
  return input.arms.flatMap(({ name, rewards }) => {
    if (rewards === undefined || rewards === null) return [];
    return {
      arm: name,
      steps: rewards.steps,
      first_window_mean: rewards.firstWindowMean,
      last_window_mean: rewards.lastWindowMean,
      difference: rewards.difference,
      improved: rewards.improved,
    };
  });
}
