import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { loadWeights } from '../engines/serving/load-weights.js';
import type { ArmHandle, StepHandle } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import type { Trajectory } from '../shared/contracts/trajectory.js';
import type { InferenceClient } from '../shared/inference/types.js';
import { closeInferenceServer, openInferenceServer } from './inference-server.js';
import type { ActorConnection } from './embedded-actor.js';
import { enginePath } from './paths.js';
import type { RunFiles } from './ports.js';
import type { ActivityScope } from './scope.js';
import { spotCheck } from './spot-check.js';

/** A server of the actor's weights at one step. */
export interface RolloutServer {
  inference: InferenceClient;
  /** Compares what it sampled with the actor. */
  check(trajectories: readonly Trajectory[]): Promise<void>;
}

/** Folder of the rollout server of an arm: its lease, log and weights. */
export function rolloutServerFolder(run: RunFiles, handle: ArmHandle): string {
  return run.path(enginePath(`${handle.arm}-${handle.phase}-rollout`));
}

/**
 * Brings the actor's weights to the recipe's rollout server: found, started again when it died, or the running one; its log-probs are
 * checked against the actor's after the rollout.
 *
 * @param actor holds the weights of the step
 * @param modelDir the base, which a new server starts with
 * @throws PipelineError EngineUnavailable, OutOfMemory, PinMismatch, StorageFailed
 */
export async function rolloutServer(
  run: RunFiles,
  handle: StepHandle,
  actor: ActorConnection,
  modelDir: string,
  scope: ActivityScope
): Promise<RolloutServer> {
  const folder = rolloutServerFolder(run, handle);
  const { rolloutServing: settings, evaluation, grpo } = run.recipe;
  const version = String(handle.step);
  scope.report({ phase: 'serve', step: handle.step });
  const wanted = {
    folder,
    settings,
    modelDir,
    // After an update a server calls itself by the path of its last weights.
    changingWeights: true,
    contextLength: evaluation.serverContext,
    concurrency: grpo.rolloutConcurrency,
  };
  const server = await openInferenceServer(wanted, scope.signal);
  const weights = join(folder, 'weights', `version-${version}`);
  scope.report({ phase: 'weights', step: handle.step });
  await actor.client.exportModel({ dir: weights, expected_weights_version: handle.step }, { signal: scope.signal });
  await loadWeights({ endpoint: server.endpoint, apiKey: server.apiKey, folder: weights, version }, scope.signal);
  await removeOthers(join(folder, 'weights'), `version-${version}`);
  return {
    inference: server.inference,
    check: async (trajectories) => {
      try {
        await spotCheck(trajectories, actor.client, { step: handle.step, temperature: grpo.temperature }, scope.signal);
      } catch (error) {
        // A server that serves other weights than it says is not asked again: the repetition starts a new one.
        if (error instanceof PipelineError) await stopRolloutServer(run, handle).catch(() => undefined);
        throw error;
      }
    },
  };
}

/** Stops the rollout server of an arm, if it has one of its own. */
export async function stopRolloutServer(run: RunFiles, handle: ArmHandle): Promise<void> {
  const { rolloutServing: settings } = run.recipe;
  if (settings === undefined) return;
  const folder = rolloutServerFolder(run, handle);
  await closeInferenceServer(folder, settings);
  await rm(join(folder, 'weights'), { recursive: true, force: true });
}

async function removeOthers(folder: string, keep: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name !== keep) await rm(join(folder, name), { recursive: true, force: true });
}
