import type { Progress } from '../contracts/progress.js';
import type { Recipe } from '../contracts/recipe.js';
import type { ArtifactKind } from '../contracts/artifact.js';
import type { EvaluationSummary } from '../scoring/evaluation-types.js';
import type { RewardSource } from '../scoring/reward-source.js';
import type { Verdict } from '../scoring/verdict.js';
import type { CostSummary } from '../cost/summarize-cost.js';
import type { ServerRecord } from '../evaluation/types.js';
import type { ScreeningManifest } from '../evaluation/screen-splits.js';
import type { Producer } from '../artifacts/sidecar.js';

/** Everything a report is made from, as far as it was found in the run's directory. */
export interface RunData {
  /** Absolute path of the run. */
  directory: string;
  /** Name of the run's folder: the pipeline id, unless that was no plain name. */
  name: string;
  recipe?: Recipe;
  progress?: Progress;
  cost?: CostSummary;
  verdict?: Verdict;
  /** In the recipe's order. */
  /** Of a Pass@N screening, where the recipe has one. */
  screening?: ScreeningManifest;
  arms: ArmData[];
  evaluations: EvaluationData[];
  /** `base` first, then the arms. */
  models: string[];
  /** The development set first, then lengths upwards. */
  datasets: string[];
  sources: SourceFile[];
  modelFiles: SourceFile[];
  artifacts: ArtifactRow[];
  /** What should be there and is not, or cannot be read: one sentence each. */
  problems: string[];
}

export interface RewardPoint {
  step: number;
  reward: number;
}

export interface ArmData {
  name: string;
  flavour?: string;
  rewards: RewardPoint[];
  /** Of an arm that jobs trained; else the rewards are means over trajectories. */
  rewardSource?: RewardSource;
  /** Columns of metrics.csv by name; equal lengths. */
  metrics: ReadonlyMap<string, readonly number[]>;
  gate?: SmokeGate;
  conversion?: ConversionFacts;
  /** Where jobs of a cluster train: all of them, in order. */
  jobs?: JobRow[];
}

/** A job of an arm, from its `lineage.json`. */
export interface JobRow {
  phase: string;
  submissionId: string;
  /** 0, or the step after the checkpoint it went on from. */
  firstStep: number;
  end?: { status: string };
}

/** A count of the ledger; in words where a job's framework does not print it. */
export type LedgerCount = number | 'not verifiable';

/** `arms/<arm>/smoke/gate.json`. */
export interface SmokeGate {
  passed: boolean;
  steps: {
    step: number;
    generated_turns: LedgerCount;
    transferred_rows: LedgerCount;
    trimmed_rows?: LedgerCount;
    consumed_rows: LedgerCount;
    equal: boolean | 'not verifiable';
    weights_version?: number;
    loss?: number;
    grad_norm?: number;
  }[];
}

/** `arms/<arm>/hf.json`. */
export interface ConversionFacts {
  tensors: number;
  largest_difference: number;
}

export interface EvaluationData {
  model: string;
  dataset: string;
  /** With what answered, unless it is the reference's. */
  summary?: EvaluationSummary & { server?: ServerRecord };
  /** Absolute path of the per-sample JSONL, when it is there. */
  samplesPath?: string;
}

export interface SourceFile {
  name: string;
  sha256: string;
  bytes: number;
  /** e.g. repository and revision, rows written and skipped. */
  note?: string;
}

export interface ArtifactRow {
  path: string;
  kind: ArtifactKind;
  sha256: string;
  bytes: number;
  producer: Producer | null;
  reusedFrom?: string;
}

/** Data set names in reading order: the development set, then lengths upwards, then the rest by name. */
export function orderDatasets(names: Iterable<string>): string[] {
  const rank = (name: string): number => (name === 'dev' ? -1 : (datasetLength(name) ?? Infinity));
  return [...new Set(names)].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** The length in a data set's name: `eval_200` → 200. */
export function datasetLength(name: string): number | undefined {
  const digits = /^eval_(\d+)$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** A data set's name for people. */
export function datasetLabel(data: Pick<RunData, 'recipe'>, name: string): string {
  if (name === 'dev') return data.recipe?.data.generate === undefined ? 'HotpotQA dev' : 'Development set';
  const length = datasetLength(name);
  if (length === undefined) return name;
  return data.recipe?.data.generate === undefined ? `${length} documents` : `${length} chunks`;
}

export function findEvaluation(data: RunData, model: string, dataset: string): EvaluationData | undefined {
  return data.evaluations.find((each) => each.model === model && each.dataset === dataset);
}
