import { trainingData } from '../shared/artifacts/training-data.js';
import type { StopEngineArgs, TrainingJobArgs, TrainingJobResult } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import type { RayJobsClient } from '../engines/ray/jobs/client.js';
import type { FollowHooks, TrainingPlan } from '../engines/ray/follow/plan.js';
import { TrainingJob } from '../engines/ray/follow/training-job.js';
import { launchSpec } from '../engines/ray/launch/launch-spec.js';
import { modelFolder } from './model-folder.js';
import { armPaths, enginePath } from './paths.js';
import type { ActivityPorts, RunFiles } from './ports.js';
import { openClient } from './ray-client.js';
import { openRun } from './run-files.js';
import type { ActivityScope } from './scope.js';

/** How long a cluster may be out of sight before the attempt ends; its repetitions look on. Unit: milliseconds. */
const PATIENCE_MS = 5 * 60_000;
/** A connection waits this long for the next slice. Unit: milliseconds. */
const PARKED_MS = 60_000;

interface Followed {
  job: TrainingJob;
  client: RayJobsClient;
  /** Attempts that use it: one that was given up may not know it yet when its repetition has come. */
  users: number;
  parked: NodeJS.Timeout | undefined;
}

/** Jobs that this process follows, by folder: between two slices the log is not read from its beginning again. */
const followed = new Map<string, Followed>();

/**
 * Follows the training job of an arm for a slice, and begins one when there is none. The job outlives the worker.
 *
 * @throws PipelineError of the failure table
 */
export async function runTrainingJob(
  args: TrainingJobArgs,
  scope: ActivityScope,
  ports: ActivityPorts
): Promise<TrainingJobResult> {
  const run = await openRun(args.run);
  const plan = planOf(run, args, await modelFolder(run.recipe, ports.projectRoot, { signal: scope.signal }));
  const hooks = hooksOf(run, args, scope);
  const entry = await take(run, plan);
  const { job } = entry;
  const { startMinutes = 60, stepMinutes = 60 } = run.recipe.cluster ?? {};
  scope.watch({
    run,
    name: `${args.phase}-${args.arm}`,
    limits: { start: startMinutes * 60, step: stepMinutes * 60, finish: stepMinutes * 60 },
    sees: () => job.sees,
    evidence: () => job.evidence(),
    // The signal of the body is aborted by then; stopping has its own limits.
    stop: (why) => job.giveUp(why, { ...hooks, signal: new AbortController().signal }),
  });
  try {
    return await job.follow(args, hooks);
  } finally {
    park(plan.folder, entry);
  }
}

/** Stops the arm's job, if it is the run's own and runs, and gives the cluster back. For that no model is needed. */
export async function stopTrainingJob(run: RunFiles, args: StopEngineArgs, scope: ActivityScope): Promise<void> {
  const plan = planOf(run, args, undefined);
  const entry = await take(run, plan);
  try {
    await entry.job.stop(args.onlyIfOver === true, hooksOf(run, args, scope));
  } finally {
    // Nobody comes again: what reads its log would read on for as long as this process lives.
    await leave(plan.folder, entry);
  }
}

/** @param modelDir undefined: no job will be begun */
function planOf(
  run: RunFiles,
  args: StopEngineArgs & { totalSteps?: number },
  modelDir: string | undefined
): TrainingPlan {
  const { arm, phase } = args;
  const { recipe } = run;
  const paths = armPaths(arm, phase);
  const flavour = recipe.arms[arm]?.flavour;
  if (flavour === undefined) throw new PipelineError('RecipeInvalid', `the recipe has no arm “${arm}”`);
  const totalSteps = args.totalSteps ?? (phase === 'smoke' ? recipe.smoke.steps : recipe.grpo.steps);
  const checkpoints = run.path(paths.checkpoints);
  const places = {
    saveDir: checkpoints,
    trainData: run.path(trainingData(run.recipe)),
    numRollout: totalSteps,
    dumpDir: run.path(enginePath(jobName(args))),
  };
  return {
    pipelineId: run.handle.pipelineId,
    arm,
    phase,
    totalSteps,
    flavour,
    trajectories: recipe.grpo.promptsPerStep * recipe.grpo.groupSize,
    root: run.handle.root,
    folder: run.path(paths.job),
    checkpoints,
    spec: (resume) => {
      if (modelDir === undefined) throw new Error('a job that is only to be stopped was begun');
      return launchSpec(recipe, arm, phase, { ...places, modelDir, resume });
    },
  };
}

function jobName({ arm, phase }: StopEngineArgs): string {
  return `job-${arm}-${phase}`;
}

function hooksOf(run: RunFiles, args: StopEngineArgs, scope: ActivityScope): FollowHooks {
  return {
    signal: scope.signal,
    report: (progress) => scope.report(progress),
    fence: () => run.enter(jobName(args)),
    patienceMs: PATIENCE_MS,
  };
}

async function take(run: RunFiles, plan: TrainingPlan): Promise<Followed> {
  const known = followed.get(plan.folder);
  clearTimeout(known?.parked);
  const client = known?.client ?? (await openClient(run.recipe));
  // The plan is new: after OutOfMemory the recipe has other settings.
  if (known !== undefined) known.job.plan = plan;
  const entry = known ?? { client, job: new TrainingJob(plan, client), users: 0, parked: undefined };
  entry.users += 1;
  followed.set(plan.folder, entry);
  return entry;
}

function park(folder: string, entry: Followed): void {
  entry.users -= 1;
  if (entry.users === 0) entry.parked = setTimeout(() => void leave(folder, entry), PARKED_MS).unref();
}

/** Ends following; the job goes on. */
async function leave(folder: string, entry: Followed): Promise<void> {
  if (followed.get(folder) === entry) followed.delete(folder);
  clearTimeout(entry.parked);
  await entry.job.close();
  await entry.client.close();
}
