import type { StepHandle } from '../shared/contracts/activities.js';
import { actorAt } from './embedded-actor.js';
import { armPaths, dueCheckpoints } from './paths.js';
import type { ActivityPorts, Origin, RunFiles } from './ports.js';
import type { ActivityScope } from './scope.js';

/** Earlier checkpoints that are missing or were damaged after they were published. */
export async function brokenCheckpoints(run: RunFiles, handle: StepHandle): Promise<number[]> {
  const paths = armPaths(handle.arm, handle.phase);
  const broken: number[] = [];
  for (const step of dueCheckpoints(run.recipe.grpo.checkpointEvery, handle.step))
    if ((await run.find(paths.checkpoint(step))) === undefined) broken.push(step);
  return broken;
}

/**
 * Makes earlier checkpoints anew that were lost or damaged: the actor goes back to the complete one before, trains the saved rows
 * again, and saves the same bytes. Disks rot while nobody looks; the run's result must not depend on it.
 */
export async function repairCheckpoints(
  run: RunFiles,
  handle: StepHandle,
  scope: ActivityScope,
  ports: ActivityPorts
): Promise<void> {
  for (const step of await brokenCheckpoints(run, handle)) {
    ports.log.warn({ run: run.handle.pipelineId, arm: handle.arm, step }, 'checkpoint is broken; it is made anew');
    await writeCheckpoint(run, { ...handle, step }, scope, ports);
  }
}

/** Saves the actor's state after a step at its place, and publishes it. */
export async function writeCheckpoint(
  run: RunFiles,
  handle: StepHandle,
  scope: ActivityScope,
  ports: ActivityPorts
): Promise<Awaited<ReturnType<RunFiles['adopt']>>> {
  const { step } = handle;
  const paths = armPaths(handle.arm, handle.phase);
  const relative = paths.checkpoint(step);
  const actor = await actorAt(run, handle, step + 1, scope, ports);
  scope.report({ phase: 'checkpoint', step });
  await actor.client.saveCheckpoint(
    { dir: run.path(relative), extra: { data_cursor: (step + 1) * run.recipe.grpo.promptsPerStep } },
    { signal: scope.signal }
  );
  const inputs = await run.find(paths.train(step));
  const origin: Origin = {
    stage: 'checkpoint',
    activity: 'saveCheckpoint',
    attempt: scope.attempt,
    inputs: inputs === undefined ? [] : [inputs],
  };
  return await run.adopt(relative, 'checkpoint', origin);
}
