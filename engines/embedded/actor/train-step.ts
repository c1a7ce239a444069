import { readRows } from '../../../shared/artifacts/rows-parquet.js';
import { hashFile } from '../../../shared/artifacts/atomic-file.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { TrainingRows } from '../../../shared/contracts/trajectory.js';
import type { TrainCall, TrainHyper, TrainReply } from '../client/actor-client.js';
import type { LossOptions, OptimizerOptions, Policy, PolicyRow } from '../policy-api.js';
import { badCall, requireAbsolutePath, requireNumber, requireRecord } from './call-args.js';

/** Everything of a train reply but the step and the version, which the actor knows. */
export type TrainedFacts = Omit<TrainReply, 'step' | 'weights_version'>;

const CALL = 'train_step';
const LOSS_REDUCTIONS: readonly unknown[] = ['sample_mean', 'token_mean'] satisfies TrainHyper['lossReduction'][];

/** @throws PipelineError ConversionFailed naming the first wrong member */
export function checkedTrainCall(args: unknown): TrainCall {
  const fields = requireRecord(CALL, args);
  const rows = requireRecord(`${CALL}: rows`, fields['rows']);
  if (typeof rows['sha256'] !== 'string') throw badCall(CALL, 'rows.sha256 is missing');
  return {
    step: requireNumber(CALL, fields, 'step', { least: 0, isInteger: true }),
    expected_weights_version: requireNumber(CALL, fields, 'expected_weights_version', { least: 0, isInteger: true }),
    rows: { path: requireAbsolutePath(CALL, rows, 'path'), sha256: rows['sha256'] },
    hyper: checkedHyper(requireRecord(`${CALL}: hyper`, fields['hyper'])),
  };
}

function checkedHyper(fields: Record<string, unknown>): TrainHyper {
  const pair = (name: string, below?: number): [number, number] => {
    const values = requireRecord(CALL, { ...(fields[name] as object) });
    const bounds = { least: 0, ...(below === undefined ? {} : { below }) };
    return [
      requireNumber(`${CALL}: ${name}`, values, '0', bounds),
      requireNumber(`${CALL}: ${name}`, values, '1', bounds),
    ];
  };
  if (!LOSS_REDUCTIONS.includes(fields['lossReduction']))
    throw badCall(CALL, `lossReduction must be one of ${LOSS_REDUCTIONS.join(', ')}`);
  return {
    learningRate: requireNumber(CALL, fields, 'learningRate', { least: 0 }),
    betas: pair('betas', 1),
    epsilon: requireNumber(CALL, fields, 'epsilon', { least: 0 }),
    weightDecay: requireNumber(CALL, fields, 'weightDecay', { least: 0 }),
    gradientClip: requireNumber(CALL, fields, 'gradientClip', { least: 0 }),
    klCoefficient: requireNumber(CALL, fields, 'klCoefficient', { least: 0 }),
    clip: pair('clip'),
    lossReduction: fields['lossReduction'] as TrainHyper['lossReduction'],
    temperature: requireNumber(CALL, fields, 'temperature', { above: 0 }),
  };
}

/**
 * One GRPO update on a rows file. Old log-probs are those recorded at sampling; reference log-probs come from the frozen base.
 *
 * @throws PipelineError ConversionFailed for a wrong file, an empty batch or a row beyond the context; NonFiniteLoss with
 *   nothing applied
 */
export async function trainOnRows(
  { rows: file, hyper }: TrainCall,
  policy: Policy,
  reference: Policy | undefined,
  contextLength: number
): Promise<TrainedFacts> {
  const { sha256 } = await hashRows(file.path);
  if (sha256 !== file.sha256)
    throw new PipelineError('ConversionFailed', `${file.path} has SHA-256 ${sha256}, the call names ${file.sha256}`, {
      where: file.path,
    });
  const table = await readRows(file.path);
  const rows = policyRows(table, contextLength, file.path);
  const started = performance.now();
  const metrics = policy.trainStep(rows, lossOptions(hyper), optimizerOptions(hyper), reference);
  return {
    consumed_rows: rows.length,
    loss: metrics.loss,
    policy_loss: metrics.policyLoss,
    kl: metrics.kl,
    entropy: metrics.entropy,
    clip_fraction: metrics.clipFraction,
    grad_norm: metrics.gradientNorm,
    ppo_kl: metrics.ppoKl,
    max_logprob_difference: metrics.maxLogProbDifference,
    mean_ratio: metrics.meanRatio,
    min_ratio: metrics.minRatio,
    max_ratio: metrics.maxRatio,
    trained_tokens: metrics.trainedTokens,
    total_tokens: metrics.totalTokens,
    ended_share: endedShare(table),
    seconds: (performance.now() - started) / 1000,
  };
}

async function hashRows(path: string): Promise<{ sha256: string }> {
  try {
    return await hashFile(path);
  } catch (error) {
    throw new PipelineError('ConversionFailed', `the rows file ${path} cannot be read: ${(error as Error).message}`, {
      where: path,
    });
  }
}

/** @throws PipelineError ConversionFailed listing at most ten rows; lengths within a row are checked by the policy */
export function policyRows(table: TrainingRows, contextLength: number, where: string): PolicyRow[] {
  const problems: string[] = [];
  if (table.tokens.length === 0) problems.push('there is no row');
  const rows = table.tokens.map((tokens, index) => {
    const row = {
      tokens,
      responseLength: table.response_lengths[index]!,
      lossMask: table.loss_masks[index]!,
      oldLogProbs: table.rollout_log_probs[index]!,
      advantage: table.rewards[index]!,
    };
    if (tokens.length > contextLength)
      problems.push(`row ${index} has ${tokens.length} tokens, the context has ${contextLength}`);
    if (row.lossMask.some((mask) => mask !== 0 && mask !== 1)) problems.push(`row ${index}: a mask is neither 0 nor 1`);
    return row;
  });
  if (problems.length === 0) return rows;
  const shown = problems.slice(0, 10);
  throw new PipelineError('ConversionFailed', `${where} cannot be trained on: ${shown.join('; ')}`, {
    where,
    problems: shown,
  });
}

function lossOptions(hyper: TrainHyper): LossOptions {
  return {
    clipLow: hyper.clip[0],
    clipHigh: hyper.clip[1],
    klCoefficient: hyper.klCoefficient,
    temperature: hyper.temperature,
    reduction: hyper.lossReduction,
  };
}

function optimizerOptions(hyper: TrainHyper): OptimizerOptions {
  return {
    learningRate: hyper.learningRate,
    beta1: hyper.betas[0],
    beta2: hyper.betas[1],
    epsilon: hyper.epsilon,
    weightDecay: hyper.weightDecay,
    gradientClip: hyper.gradientClip,
  };
}

/** Share of responses that the model ended by itself. */
function endedShare({ truncated }: TrainingRows): number {
  return 1 - truncated.reduce((sum, flag) => sum + flag, 0) / truncated.length;
}
