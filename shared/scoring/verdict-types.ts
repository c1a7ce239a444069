import type { VerdictOutcome } from '../contracts/progress.js';
import type { Flavour } from '../contracts/trajectory.js';
import type { EvaluationSample, EvaluationSummary } from './evaluation-types.js';
import type { RewardSeriesSummary } from './reward-series.js';
import type { PairedStatistics } from './statistics.js';

/** Scores the acceptance rule can be about; `<metric>_pct` of the summaries is compared. */
export type AcceptanceMetric = 'sub_em' | 'boxed_em' | 'em' | 'f1';

/** What the verdict needs of a sample; whole sample records may be given. */
export type SampleScore = Pick<
  EvaluationSample,
  '_id' | 'pred' | 'answer' | 'judge_f1' | 'judge_em' | 'judge_sub_em' | 'judge_boxed_em' | 'context_truncated'
> & { error?: string | undefined };

/** One model on one data set. */
export interface DatasetEvaluation {
  summary: EvaluationSummary;
  /** In the order of the data set; null where only the summary is known, which is then taken at its word. */
  samples: readonly SampleScore[] | null;
}

/** Evaluations of one model; the key is the data set's name. */
export type ModelEvaluations = Readonly<Record<string, DatasetEvaluation>>;

export interface ArmEvaluations {
  name: string;
  flavour: Flavour;
  evaluations: ModelEvaluations;
  /** Reward series of the arm's training; null or absent = not known. Reported, not part of the rule. */
  rewards?: RewardSeriesSummary | null;
}

/** A data set of one context length. */
export interface LengthDataset {
  /** Name of the data set, e.g. `eval_200`. */
  dataset: string;
  /** What the length is called, e.g. 200. */
  length: number;
}

/** Parts of the acceptance rule: the arms against each other, and the trained models against the frozen base. */
export type RulePart = 'pairs' | 'baselines';

/** Everything a verdict depends on: the same input gives the same verdict, byte for byte. */
export interface JudgeInput {
  metric: AcceptanceMetric;
  /** Largest difference of two arms. Unit: percentage points. */
  tolerancePoints: number;
  /** Chosen before any result was seen. */
  lengths: readonly LengthDataset[];
  /** Data set of the boxed-EM rule; null = the rule is left out, which the verdict says. */
  devDataset: string | null;
  /** Parts of the rule that are asked for; the verdict says what was left out. Default: all. */
  parts?: readonly RulePart[];
  /** A run that only shows that the machinery works: there is never a verdict. Default: false. */
  diagnostic?: boolean;
  /** The frozen base model; not looked at without the part `baselines`. */
  base: ModelEvaluations;
  arms: readonly ArmEvaluations[];
}

/** The pair rule for one length: two arms may differ by at most the tolerance. */
export interface PairRow {
  dataset: string;
  length: number;
  metric: AcceptanceMetric;
  first: string;
  second: string;
  first_pct: number;
  second_pct: number;
  /** |second − first|, percentage points, not rounded. */
  gap_points: number;
  tolerance_points: number;
  passed: boolean;
  /** null where the samples are not known. */
  statistics: PairedStatistics | null;
}

/** The baseline rule for one data set: the trained model is strictly above the frozen base. */
export interface BaselineRow {
  dataset: string;
  /** Context length; null for the development set. */
  length: number | null;
  metric: AcceptanceMetric;
  arm: string;
  /** Whether the outcome depends on it: the rule is about the relax arm; others are shown beside it. */
  required: boolean;
  base_pct: number;
  trained_pct: number;
  /** trained − base, percentage points, not rounded. */
  improvement_points: number;
  passed: boolean;
  /** null where the samples are not known. */
  statistics: PairedStatistics | null;
}

/** What of the contexts of a data set was read. */
export interface ContextRow {
  dataset: string;
  length: number | null;
  samples: number;
  max_chunks: number;
  /** Samples whose context had more chunks than were read. */
  beyond_max_chunks: number;
  /** True only when every context was read to its end. */
  full_context: boolean;
}

/** Scores of one model on one data set, in percent over the full total. */
export interface ScoreRow {
  model: string;
  dataset: string;
  length: number | null;
  total: number;
  successful: number;
  errors: number;
  f1_pct: number;
  em_pct: number;
  sub_em_pct: number;
  boxed_em_pct: number;
  /** Additional: sub_em by vime's own counting (an empty prediction counts as contained; failed samples are left out). */
  vime_sub_em_pct: number | null;
}

export interface RewardRow {
  arm: string;
  steps: number;
  first_window_mean: number;
  last_window_mean: number;
  difference: number;
  /** The last window is strictly above the first. */
  improved: boolean;
}

/** The file `verdict.json`. */
export interface Verdict {
  schema_version: string;
  outcome: VerdictOutcome;
  /** The whole verdict in plain words. */
  sentence: string;
  rule: {
    metric: AcceptanceMetric;
    tolerance_points: number;
    lengths: number[];
    dev_dataset: string | null;
    text: string;
  };
  arms: { name: string; flavour: Flavour }[];
  /** Every reason why there is no verdict; empty unless the outcome is `not-comparable`. */
  reasons: string[];
  /** Every part of the rule that does not hold; empty when the outcome is `passed`. */
  failed_checks: string[];
  pairs: PairRow[];
  baselines: BaselineRow[];
  contexts: ContextRow[];
  scores: ScoreRow[];
  rewards: RewardRow[];
  /** What a reader must know beside the outcome: truncation, smallest differences, rules left out. */
  notes: string[];
}
