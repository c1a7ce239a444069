import type {
  ArmHandle,
  CheckpointResult,
  StepHandle,
  StopEngineArgs,
  TrainActivities,
  TrainArgs,
  TrainingJobArgs,
  TrainResult,
} from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { repairCheckpoints, writeCheckpoint } from './checkpoint-repair.js';
import { actorAt, stopActor, trainingHyper } from './embedded-actor.js';
import { armPaths } from './paths.js';
import type { ActivityPorts, Origin, RunFiles } from './ports.js';
import { openRun } from './run-files.js';
import { preflight } from './preflight.js';
import { activity, type ActivityScope } from './scope.js';
import type { RowFacts, StepRecord } from './step-record.js';
import { runTrainingJob, stopTrainingJob } from './training-job.js';

export function trainActivities(ports: ActivityPorts): TrainActivities {
  return {
    trainStep: activity((args: TrainArgs, scope) => trainStep(args, scope, ports)),
    saveCheckpoint: activity((args: StepHandle, scope) => saveCheckpoint(args, scope, ports)),
    stopEngine: activity((args: StopEngineArgs, scope) => stopTraining(args, scope)),
    preflight: activity((args: ArmHandle, scope) => preflight(args, scope, ports)),
    runTrainingJob: activity((args: TrainingJobArgs, scope) => runTrainingJob(args, scope, ports)),
  };
}

async function stopTraining(args: StopEngineArgs, scope: ActivityScope): Promise<void> {
  const run = await openRun(args.run);
  if (run.recipe.engine === 'ray') await stopTrainingJob(run, args, scope);
  else await stopActor(run, args);
}

/**
 * One optimizer step on the rows of a rollout. The result on disk is the truth: when it is there the step was applied, and
 * an engine that was lost since is brought back by replaying the saved rows, not by training twice.
 */
async function trainStep(args: TrainArgs, scope: ActivityScope, ports: ActivityPorts): Promise<TrainResult> {
  const run = await openRun(args.run);
  const paths = armPaths(args.arm, args.phase);
  const existing = await run.find(paths.train(args.step));
  if (existing !== undefined)
    return { ...toResult(await run.readJson<StepRecord>(paths.train(args.step))), result: existing, seconds: 0 };
  const rows = await run.find(args.rows.path);
  if (rows?.sha256 !== args.rows.sha256) {
    throw new PipelineError(
      'RowCountMismatch',
      `${args.rows.path} is missing or not the file that was converted (SHA-256 differs)`
    );
  }
  const startedAt = performance.now();
  const record = await train(run, args, scope, ports);
  const origin: Origin = { stage: 'train', activity: 'trainStep', attempt: scope.attempt, inputs: [args.rows] };
  const result = await run.publish(paths.train(args.step), `${JSON.stringify(record)}\n`, 'train-result', origin);
  return { ...toResult(record), result, seconds: (performance.now() - startedAt) / 1000 };
}

async function train(run: RunFiles, args: TrainArgs, scope: ActivityScope, ports: ActivityPorts): Promise<StepRecord> {
  const paths = armPaths(args.arm, args.phase);
  const rollout = await run.readJson<{ generated_turns: number; mean_reward: number }>(paths.rolloutFacts(args.step));
  const rowFacts = await run.readJson<RowFacts>(paths.rowFacts(args.step));
  const actor = await actorAt(run, args, args.step, scope, ports);
  scope.report({ phase: 'train', step: args.step });
  const trained = await actor.client.trainStep(
    {
      step: args.step,
      expected_weights_version: args.step,
      rows: { path: run.path(args.rows.path), sha256: args.rows.sha256 },
      hyper: trainingHyper(run.recipe),
    },
    { signal: scope.signal }
  );
  return {
    step: args.step,
    weights_version: trained.weights_version,
    mean_reward: rollout.mean_reward,
    generated_turns: rollout.generated_turns,
    transferred_rows: rowFacts.produced_rows,
    trimmed_rows: rowFacts.trimmed_rows,
    consumed_rows: trained.consumed_rows,
    loss: trained.loss,
    policy_loss: trained.policy_loss,
    kl: trained.kl,
    entropy: trained.entropy,
    clip_fraction: trained.clip_fraction,
    grad_norm: trained.grad_norm,
    ppo_kl: trained.ppo_kl,
    max_logprob_difference: trained.max_logprob_difference,
    mean_ratio: trained.mean_ratio,
    min_ratio: trained.min_ratio,
    max_ratio: trained.max_ratio,
    trained_tokens: trained.trained_tokens,
    total_tokens: trained.total_tokens,
    ended_share: trained.ended_share,
    mean_response_tokens: rowFacts.mean_response_tokens,
    mean_memory_tokens: rowFacts.mean_memory_tokens,
    truncated_share: rowFacts.truncated_share,
  };
}

function toResult(record: StepRecord): Omit<TrainResult, 'result' | 'seconds'> {
  return {
    consumedRows: record.consumed_rows,
    weightsVersion: record.weights_version,
    loss: record.loss,
    kl: record.kl,
    gradientNorm: record.grad_norm,
    entropy: record.entropy,
    trainedTokens: record.total_tokens,
  };
}

async function saveCheckpoint(args: StepHandle, scope: ActivityScope, ports: ActivityPorts): Promise<CheckpointResult> {
  const run = await openRun(args.run);
  await repairCheckpoints(run, args, scope, ports);
  const existing = await run.find(armPaths(args.arm, args.phase).checkpoint(args.step));
  const checkpoint = existing ?? (await writeCheckpoint(run, args, scope, ports));
  return { checkpoint, weightsVersion: args.step + 1 };
}
