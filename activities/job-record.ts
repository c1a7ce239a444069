import type { ScalarStep } from '../shared/artifacts/tensorboard.js';
import type { Phase } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { ledgerText } from '../engines/ray/follow/job-problem.js';
import type { SeriesStep } from '../engines/ray/follow/step-series.js';

/** What stands in a gate instead of a count that the framework does not print. */
export const NOT_VERIFIABLE = 'not verifiable';

/** Columns of metrics.csv after step and reward, and what a job's framework calls them. */
const COLUMNS: readonly (readonly [column: string, metric: string])[] = [
  ['loss', 'train/loss'],
  ['policy_loss', 'train/pg_loss'],
  ['kl', 'train/kl_loss'],
  ['entropy', 'train/entropy_loss'],
  ['clip_fraction', 'train/pg_clipfrac'],
  ['grad_norm', 'train/grad_norm'],
  ['ppo_kl', 'train/ppo_kl'],
  ['mean_logprob_difference', 'train/train_rollout_logprob_abs_diff'],
  ['mean_response_tokens', 'rollout/response_len/mean'],
  ['truncated_share', 'rollout/truncated_ratio'],
];

/** Row counts of a step, by the names of the step-driven engine's records. */
function countsOf({ counts }: SeriesStep): Record<string, number | undefined> {
  return {
    generated_turns: counts.generated,
    transferred_rows: counts.transferred,
    trimmed_rows: counts.trimmed ?? (counts.transferred === undefined ? undefined : 0),
    consumed_rows: counts.consumed,
  };
}

/** Everything known of a step as numbers; what was not printed is absent. */
function valuesOf(record: SeriesStep): Record<string, number | undefined> {
  const metrics = Object.fromEntries(COLUMNS.map(([column, metric]) => [column, record.metrics[metric]]));
  return { reward: record.reward, ...metrics, ...countsOf(record) };
}

/** One line a step. A cell is empty where the framework printed nothing; a column that has nothing at all is left out. */
export function jobMetricsCsv(series: readonly SeriesStep[]): string {
  const rows = series.map((record) => ({ step: record.step, values: valuesOf(record) }));
  const names = Object.keys(rows[0]?.values ?? {}).filter((name) =>
    rows.some(({ values }) => values[name] !== undefined)
  );
  const lines = rows.map(({ step, values }) => [step, ...names.map((name) => values[name] ?? '')].join(','));
  return [['step', ...names].join(','), ...lines, ''].join('\n');
}

/** The same as scalars called `<phase>/<column>`. */
export function jobScalars(series: readonly SeriesStep[], phase: Phase): ScalarStep[] {
  return series.map((record) => {
    const known = Object.entries(valuesOf(record)).filter((entry): entry is [string, number] => entry[1] !== undefined);
    return { step: record.step, values: Object.fromEntries(known.map(([name, value]) => [`${phase}/${name}`, value])) };
  });
}

/**
 * The smoke gate of a job: the counts that its framework prints must agree; one that it does not print is named as not
 * verifiable, so that nobody takes silence for agreement.
 *
 * @throws PipelineError RowCountMismatch
 */
export function jobGate(series: readonly SeriesStep[]): string {
  const wrong = series.find((record) => ledgerText(record) !== undefined);
  if (wrong !== undefined)
    throw new PipelineError('RowCountMismatch', `step ${wrong.step}: turn counts differ: ${ledgerText(wrong) ?? ''}`);
  const steps = series.map((record) => {
    const counts = countsOf(record);
    const missing = Object.keys(counts).filter((name) => name !== 'trimmed_rows' && counts[name] === undefined);
    return {
      step: record.step,
      ...Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count ?? NOT_VERIFIABLE])),
      equal: missing.length === 0 ? true : NOT_VERIFIABLE,
      not_verifiable: missing,
      weights_version: record.step + 1,
      loss: record.metrics['train/loss'],
      grad_norm: record.metrics['train/grad_norm'],
    };
  });
  const missing = [...new Set(steps.flatMap((step) => step.not_verifiable))].sort();
  return `${JSON.stringify({ passed: true, not_verifiable: missing, steps }, null, 2)}\n`;
}
