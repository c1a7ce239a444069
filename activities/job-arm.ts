import { checkpointFolder, wrongSizes, type CheckpointFiles } from '../shared/artifacts/external-checkpoints.js';
import { trainingData } from '../shared/artifacts/training-data.js';
import type { ArtifactRef } from '../shared/contracts/artifact.js';
import type { CloseArmArgs, CloseArmResult, OpenArmArgs, OpenArmResult } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { rewardSource } from '../shared/scoring/reward-source.js';
import { listFiles } from '../shared/artifacts/hash-cache.js';
import { tensorboardEvents } from '../shared/artifacts/tensorboard.js';
import { newestCheckpoint } from '../engines/ray/checkpoints.js';
import { readSeries, rewardsOf, type SeriesStep } from '../engines/ray/follow/step-series.js';
import { jobGate, jobMetricsCsv, jobScalars } from './job-record.js';
import { armPaths, type ArmPaths } from './paths.js';
import type { Origin, RunFiles } from './ports.js';
import type { ActivityScope } from './scope.js';
import { trainingFiles } from './set-aside.js';
import { armKeyParts, lookupArm, recordJobArm } from './stage-reuse.js';
import { windowMeans } from './step-record.js';

/** What is already there of an arm that jobs train. Whether its last job still runs, the training activity finds out. */
export async function openJobArm(run: RunFiles, args: OpenArmArgs): Promise<OpenArmResult> {
  const paths = armPaths(args.arm, args.phase);
  // Checkpoints stay in the run that made them, so nothing can be reused of another one: its jobs and steps must not be taken for
  // this run's.
  const reused = await lookupArm(run, args, await armKeyParts(run, args), { onlyOwn: true });
  if (reused?.finished !== undefined && (await checkpointIsWhole(run, reused.finished.checkpoint)))
    return { nextStep: args.totalSteps, rewards: [], ...reused };
  if (await usesOtherData(run, paths))
    await run.setAside(trainingFiles(args.arm, args.phase), `${args.phase}-${args.arm}`);
  const rewards = rewardsOf(await readSeries(run.path(paths.jobSteps))).slice(0, args.totalSteps);
  return { nextStep: rewards.length, rewards };
}

/** The store has the list of the checkpoint's files, not the files: somebody may have removed them since. */
async function checkpointIsWhole(run: RunFiles, checkpoint: ArtifactRef): Promise<boolean> {
  if ((await run.find(checkpoint.path))?.sha256 !== checkpoint.sha256) return false;
  const { files } = await run.readJson<CheckpointFiles>(checkpoint.path);
  return (await wrongSizes(run.path(checkpointFolder(checkpoint.path)), files)).length === 0;
}

async function usesOtherData(run: RunFiles, paths: ArmPaths): Promise<boolean> {
  const used = (await run.inputsOf(paths.rewardCsv))?.find(({ path }) => path === trainingData(run.recipe))?.sha256;
  return used !== undefined && used !== (await run.expect(trainingData(run.recipe))).sha256;
}

/**
 * Closes an arm that jobs trained: series, metrics, logs, the smoke gate, and the list of the last checkpoint's files.
 *
 * @throws PipelineError CheckpointInvalid when a reward or the last checkpoint is missing, RowCountMismatch
 */
export async function closeJobArm(run: RunFiles, args: CloseArmArgs, scope: ActivityScope): Promise<CloseArmResult> {
  const { totalSteps, phase } = args;
  const paths = armPaths(args.arm, phase);
  const all = await readSeries(run.path(paths.jobSteps));
  const series = all.filter(({ step }) => step < totalSteps);
  const rewards = rewardsOf(series);
  if (rewards.length < totalSteps)
    throw new PipelineError('CheckpointInvalid', `the reward series is not complete: step ${rewards.length} has none`, {
      where: run.path(paths.jobSteps),
    });
  const base: Origin = { stage: 'train', activity: 'closeArm', attempt: scope.attempt, inputs: [] };
  const data = await run.expect(trainingData(run.recipe));
  const logs = await adoptLogs(run, paths, base);
  const steps = await run.adopt(paths.jobSteps, 'train-result', { ...base, inputs: [data, ...logs] });
  const origin: Origin = { ...base, inputs: [data, steps] };
  const csv = ['step,reward', ...rewards.map((reward, step) => `${step},${reward}`), ''].join('\n');
  // Not among the artifacts of the run's progress, which is a few KB at most.
  const sourceText = `${JSON.stringify(rewardSource(series), null, 2)}\n`;
  const source = await run.publish(paths.rewardSource, sourceText, 'reward-series', origin);
  const artifacts = [
    await run.publish(paths.rewardCsv, csv, 'reward-series', origin),
    await run.publish(paths.metricsCsv, jobMetricsCsv(series), 'reward-series', origin),
    await run.publish(paths.tensorboard, tensorboardEvents(jobScalars(series, phase)), 'reward-series', origin),
  ];
  if (phase === 'smoke') artifacts.push(await run.publish(paths.gate, jobGate(series), 'smoke-gate', origin));
  const checkpoint = await listCheckpoint(run, paths, series, origin);
  const { first, last } = windowMeans(rewards);
  const result: CloseArmResult = {
    steps: totalSteps,
    firstWindowMean: first,
    lastWindowMean: last,
    rewards: rewards.slice(-120),
    artifacts,
    checkpoint,
  };
  await recordJobArm(run, args, await armKeyParts(run, args), result, [steps, source, ...logs]);
  return result;
}

/** Lineage and logs of every job, as they are on disk. */
async function adoptLogs(run: RunFiles, paths: ArmPaths, origin: Origin): Promise<ArtifactRef[]> {
  const names = (await listFiles(run.path(paths.job))).filter(
    (name) => name.endsWith('.log') || name === 'lineage.json'
  );
  const refs: ArtifactRef[] = [];
  for (const name of names) refs.push(await run.adopt(`${paths.job}/${name}`, 'log', origin));
  return refs;
}

async function listCheckpoint(
  run: RunFiles,
  paths: ArmPaths,
  series: readonly SeriesStep[],
  origin: Origin
): Promise<ArtifactRef> {
  const lastStep = series.length - 1;
  const { newest, skipped } = await newestCheckpoint(run.path(paths.checkpoints));
  if (newest?.step !== lastStep)
    throw new PipelineError(
      'CheckpointInvalid',
      `there is no complete checkpoint of step ${lastStep}: ${skipped[0]?.reason ?? 'its folder is missing'}`,
      { where: run.path(paths.checkpoint(lastStep)), problems: skipped.map(({ path, reason }) => `${path}: ${reason}`) }
    );
  const { step, files, bytes } = newest;
  const list: CheckpointFiles = { step, files, bytes, hashed: false };
  const text = `${JSON.stringify(list, null, 2)}\n`;
  return await run.publish(paths.checkpointFiles(lastStep), text, 'checkpoint', { ...origin, stage: 'checkpoint' });
}
