import type { ArtifactRef } from '../shared/contracts/artifact.js';
import type { CloseArmArgs, CloseArmResult, OpenArmArgs, OpenArmResult } from '../shared/contracts/activities.js';
import { brokenCheckpoints } from './checkpoint-repair.js';
import { closeJobArm, openJobArm } from './job-arm.js';
import { armPaths, type ArmPaths } from './paths.js';
import type { Origin, RunFiles } from './ports.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { openRun } from './run-files.js';
import type { ActivityScope } from './scope.js';
import { trainingFiles } from './set-aside.js';
import { armKeyParts, lookupArm, recordArm } from './stage-reuse.js';
import { checkSeries, metricsCsv, rewardCsv, scalarSeries, windowMeans, type StepRecord } from './step-record.js';
import { tensorboardEvents } from '../shared/artifacts/tensorboard.js';
import { trainingData } from '../shared/artifacts/training-data.js';

/**
 * Says where a training run of an arm goes on: after the last step whose result is on disk, or not at all when an equal run
 * is already complete here or in another pipeline. The disk is the truth, not the workflow's memory.
 */
export async function openArm(args: OpenArmArgs, scope: ActivityScope): Promise<OpenArmResult> {
  const run = await openRun(args.run);
  if (run.recipe.engine === 'ray') return await openJobArm(run, args);
  const parts = await armKeyParts(run, args);
  const reused = await lookupArm(run, args, parts);
  if (reused !== undefined) return { nextStep: args.totalSteps, rewards: [], ...reused };
  const paths = armPaths(args.arm, args.phase);
  if (await usesOtherData(run, paths))
    await run.setAside(trainingFiles(args.arm, args.phase), `${args.phase}-${args.arm}`);
  const records = await finishedSteps(run, paths, args.totalSteps);
  scope.report({ phase: 'open', step: records.length });
  return {
    nextStep: await firstOpenStep(run, args, records.length),
    rewards: records.map((record) => record.mean_reward),
  };
}

/** Steps of other training data (the data stage was made anew and came out different) are no beginning of this run. */
async function usesOtherData(run: RunFiles, paths: ArmPaths): Promise<boolean> {
  const inputs = await run.inputsOf(paths.rollouts(0));
  if (inputs === undefined) return false;
  const { sha256 } = await run.expect(trainingData(run.recipe));
  return inputs.every((input) => input.sha256 !== sha256);
}

/**
 * A step counts as finished when its result is there. Where a checkpoint that was due by then is missing or damaged, the last
 * step is opened again (its activities answer from disk), so that the checkpoints get written.
 */
async function firstOpenStep(run: RunFiles, args: OpenArmArgs, finished: number): Promise<number> {
  const last = finished - 1;
  if (last < 0) return 0;
  const due = (last + 1) % run.recipe.grpo.checkpointEvery === 0 || finished === args.totalSteps;
  if (!due) return finished;
  const broken = await brokenCheckpoints(run, { ...args, step: last });
  const whole = (await run.find(armPaths(args.arm, args.phase).checkpoint(last))) !== undefined;
  return whole && broken.length === 0 ? finished : last;
}

/** Records of steps 0, 1, … without a gap. */
async function finishedSteps(run: RunFiles, paths: ArmPaths, totalSteps: number): Promise<StepRecord[]> {
  const records: StepRecord[] = [];
  for (let step = 0; step < totalSteps; step += 1) {
    if ((await run.find(paths.train(step))) === undefined) break;
    records.push(await run.readJson<StepRecord>(paths.train(step)));
  }
  return records;
}

/**
 * Closes a training run: every step's reward must be there; writes the reward series, all metrics and, for the smoke run, the
 * gate's evidence.
 */
export async function closeArm(args: CloseArmArgs, scope: ActivityScope): Promise<CloseArmResult> {
  const run = await openRun(args.run);
  if (run.recipe.engine === 'ray') return await closeJobArm(run, args, scope);
  const paths = armPaths(args.arm, args.phase);
  const records = await finishedSteps(run, paths, args.totalSteps);
  checkSeries(records, args.totalSteps);
  const results = await Promise.all(records.map((record) => run.find(paths.train(record.step))));
  const origin: Origin = {
    stage: 'train',
    activity: 'closeArm',
    attempt: scope.attempt,
    inputs: results.filter((ref): ref is ArtifactRef => ref !== undefined),
  };
  const artifacts = [
    await run.publish(paths.rewardCsv, rewardCsv(records), 'reward-series', origin),
    await run.publish(paths.metricsCsv, metricsCsv(records), 'reward-series', origin),
    await run.publish(paths.tensorboard, tensorboardEvents(scalarSeries(records, args.phase)), 'reward-series', origin),
  ];
  if (args.phase === 'smoke') artifacts.push(await run.publish(paths.gate, gateJson(records), 'smoke-gate', origin));
  const lastStep = args.totalSteps - 1;
  const checkpoint = await run.find(paths.checkpoint(lastStep));
  const broken = await brokenCheckpoints(run, { ...args, step: lastStep });
  if (checkpoint === undefined || broken.length > 0) {
    const step = broken[0] ?? lastStep;
    throw new PipelineError(
      'CheckpointInvalid',
      `the checkpoint of step ${step} is missing or was changed after it was saved: ${run.path(paths.checkpoint(step))}`,
      {
        where: run.path(paths.checkpoint(step)),
        cure: 'Decide retry, or start the run again: it is made anew from the saved rows.',
      }
    );
  }
  const rewards = records.map((record) => record.mean_reward);
  const { first, last } = windowMeans(rewards);
  const result: CloseArmResult = {
    steps: records.length,
    firstWindowMean: first,
    lastWindowMean: last,
    // Points travel through the workflow: a long series is thinned there, the full one is in reward.csv.
    rewards: rewards.slice(-120),
    artifacts,
    checkpoint,
  };
  await recordArm(run, args, await armKeyParts(run, args), result);
  return result;
}

/** The gate passed if we get here: each step's three counts are equal, or the workflow would have failed before. */
function gateJson(records: readonly StepRecord[]): string {
  const steps = records.map((record) => ({
    step: record.step,
    generated_turns: record.generated_turns,
    transferred_rows: record.transferred_rows,
    trimmed_rows: record.trimmed_rows,
    consumed_rows: record.consumed_rows,
    equal:
      record.generated_turns === record.transferred_rows + record.trimmed_rows &&
      record.transferred_rows === record.consumed_rows,
    weights_version: record.weights_version,
    loss: record.loss,
    grad_norm: record.grad_norm,
    max_logprob_difference: record.max_logprob_difference,
  }));
  return `${JSON.stringify({ passed: steps.every((step) => step.equal), steps }, null, 2)}\n`;
}
