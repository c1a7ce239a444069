import type { ScalarStep } from '../shared/artifacts/tensorboard.js';
import type { Phase } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';

/** What `train/step-NNNNNN.json` holds: every fact of one step that does not depend on the machine's speed. */
export interface StepRecord {
  step: number;
  weights_version: number;
  mean_reward: number;
  generated_turns: number;
  transferred_rows: number;
  trimmed_rows: number;
  consumed_rows: number;
  loss: number;
  policy_loss: number;
  kl: number;
  entropy: number;
  clip_fraction: number;
  grad_norm: number;
  ppo_kl: number;
  max_logprob_difference: number;
  /** exp(log-prob now − log-prob at sampling) over the trained tokens: 1 while the rows are on-policy. No unit. */
  mean_ratio: number;
  min_ratio: number;
  max_ratio: number;
  trained_tokens: number;
  total_tokens: number;
  ended_share: number;
  mean_response_tokens: number;
  mean_memory_tokens: number;
  truncated_share: number;
}

const METRIC_COLUMNS = [
  'step',
  'mean_reward',
  'loss',
  'policy_loss',
  'kl',
  'entropy',
  'clip_fraction',
  'grad_norm',
  'ppo_kl',
  'max_logprob_difference',
  'mean_ratio',
  'min_ratio',
  'max_ratio',
  'generated_turns',
  'transferred_rows',
  'trimmed_rows',
  'consumed_rows',
  'trained_tokens',
  'total_tokens',
  'ended_share',
  'mean_response_tokens',
  'mean_memory_tokens',
  'truncated_share',
] as const satisfies readonly (keyof StepRecord)[];

/**
 * Checks that a series has every step once, in order, with a reward in [0, 1].
 *
 * @throws PipelineError CheckpointInvalid listing every gap (a run is a success only with every step's reward)
 */
export function checkSeries(records: readonly StepRecord[], totalSteps: number): void {
  const problems: string[] = [];
  for (let step = 0; step < totalSteps; step += 1) {
    const record = records[step];
    if (record === undefined || record.step !== step) problems.push(`step ${step} is missing`);
    else if (!Number.isFinite(record.mean_reward) || record.mean_reward < 0 || record.mean_reward > 1) {
      problems.push(`step ${step} has reward ${record.mean_reward}, outside [0, 1]`);
    }
  }
  if (records.length > totalSteps) problems.push(`${records.length} steps are there, ${totalSteps} were expected`);
  if (problems.length > 0) {
    throw new PipelineError(
      'CheckpointInvalid',
      `the reward series is not complete: ${problems.slice(0, 5).join('; ')}`,
      { problems }
    );
  }
}

/** `step,reward` lines. */
export function rewardCsv(records: readonly StepRecord[]): string {
  return ['step,reward', ...records.map((record) => `${record.step},${record.mean_reward}`), ''].join('\n');
}

/** One line a step with every metric. */
export function metricsCsv(records: readonly StepRecord[]): string {
  const header = METRIC_COLUMNS.join(',').replace('mean_reward', 'reward');
  return [header, ...records.map((record) => METRIC_COLUMNS.map((column) => record[column]).join(',')), ''].join('\n');
}

/** The columns of {@link metricsCsv} as scalars called `<phase>/<column>`. */
export function scalarSeries(records: readonly StepRecord[], phase: Phase): ScalarStep[] {
  const columns = METRIC_COLUMNS.filter((column) => column !== 'step');
  return records.map((record) => ({
    step: record.step,
    values: Object.fromEntries(
      columns.map((column) => [`${phase}/${column.replace('mean_reward', 'reward')}`, record[column]])
    ),
  }));
}

/** Mean of the first and of the last `size` rewards. */
export function windowMeans(rewards: readonly number[], size = 10): { first: number; last: number } {
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  return { first: mean(rewards.slice(0, size)), last: mean(rewards.slice(-size)) };
}

/** Facts of a step's conversion, kept beside the rows. */
export interface RowFacts {
  step: number;
  produced_rows: number;
  trimmed_rows: number;
  mean_response_tokens: number;
  mean_memory_tokens: number;
  truncated_share: number;
}
