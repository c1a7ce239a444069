import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runConverter } from '../engines/ray/convert/converter.js';
import { LOG_FILE } from '../engines/supervision/leased-process.js';
import { wrongSizes, type CheckpointFiles } from '../shared/artifacts/external-checkpoints.js';
import { lastLines } from '../shared/runtime/log-tail.js';
import type { ConvertCheckpointArgs } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { completeModel } from './model-companions.js';
import { armPaths, enginePath } from './paths.js';
import type { Origin, RunFiles } from './ports.js';
import type { ActivityScope } from './scope.js';

/** Of a converter's log, what is kept with the run's artifacts. */
const KEPT_BYTES = 1024 * 1024;
const KEPT_LINES = 10_000;

/**
 * Converts the last Megatron checkpoint of a job's arm by the framework's own program, and adds the base's files that it leaves out.
 *
 * @param outputDir made here; the caller verifies it and moves it to its place
 * @throws PipelineError CheckpointInvalid, OutOfMemory
 */
export async function convertMegatron(
  run: RunFiles,
  args: ConvertCheckpointArgs,
  folders: { baseDir: string; outputDir: string },
  scope: ActivityScope
): Promise<void> {
  const { recipe } = run;
  const arm = recipe.arms[args.arm];
  const { cluster } = recipe;
  if (arm?.path === undefined || cluster === undefined)
    throw new PipelineError('RecipeInvalid', `arms.${args.arm}.path or cluster is missing: it names the converter`);
  const checkpointDir = run.path(armPaths(args.arm, 'train').checkpoint(recipe.grpo.steps - 1));
  await checkFiles(run.path(args.checkpoint.path), checkpointDir);
  const name = `convert-${args.arm}`;
  const engineFolder = run.path(enginePath(name));
  const logFile = join(engineFolder, LOG_FILE);
  const stop = new AbortController();
  const signal = AbortSignal.any([scope.signal, stop.signal]);
  scope.watch({ run, name, engineFolder, stop: () => Promise.resolve(stop.abort(new Error('stalled'))) });
  scope.report({ phase: 'checkpoint', bytes: 0 });
  const { python, env } = cluster;
  const conversion = { flavour: arm.flavour, framework: arm.path, python, env, checkpointDir, ...folders, logFile };
  try {
    await runConverter(conversion, signal, (bytes) => scope.report({ phase: 'checkpoint', bytes }));
  } finally {
    await keepLog(run, args, logFile, scope.attempt);
  }
  await completeModel(folders.baseDir, folders.outputDir);
}

/** The files that the checkpoint's manifest lists, as far as it does. */
async function checkFiles(manifest: string, checkpointDir: string): Promise<void> {
  const { files = [] } = JSON.parse(await readFile(manifest, 'utf8')) as Partial<CheckpointFiles>;
  const problems = await wrongSizes(checkpointDir, files);
  if (files.length === 0 && !(await stat(checkpointDir).catch(() => undefined))) problems.push('the folder is missing');
  if (problems.length === 0) return;
  throw new PipelineError('CheckpointInvalid', `checkpoint ${checkpointDir}: ${problems.slice(0, 5).join('; ')}`, {
    where: checkpointDir,
    problems: problems.slice(0, 20),
  });
}

async function keepLog(run: RunFiles, args: ConvertCheckpointArgs, logFile: string, attempt: number): Promise<void> {
  const lines = await lastLines(logFile, KEPT_BYTES, KEPT_LINES).catch(() => undefined);
  if (lines === undefined) return;
  const origin: Origin = { stage: 'checkpoint', activity: 'convertCheckpoint', attempt, inputs: [args.checkpoint] };
  await run.publish(`logs/convert-${args.arm}.log`, lines.join('\n'), 'log', origin);
}
