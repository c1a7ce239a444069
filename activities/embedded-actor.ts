import type { ArmHandle } from '../shared/contracts/activities.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { EmbeddedActorClient, type TrainHyper } from '../engines/embedded/client/actor-client.js';
import { restoreTo } from '../engines/embedded/supervisor/restore.js';
import { ensureEngine, stopEngine } from '../engines/embedded/supervisor/supervisor.js';
import { META_FOLDER } from '../shared/artifacts/run-paths.js';
import { removeUnfinished } from '../shared/artifacts/unfinished.js';
import { createInferenceClient } from '../shared/inference/client.js';
import type { InferenceClient } from '../shared/inference/types.js';
import { armPaths, enginePath } from './paths.js';
import type { ActivityPorts, RunFiles } from './ports.js';
import { resolveInput } from './resolve-input.js';
import { takeDead } from './dead-connections.js';
import { rolloutServerFolder, stopRolloutServer } from './rollout-server.js';
import type { ActivityScope } from './scope.js';

/** Connections to one engine, kept between activities. */
export interface ActorConnection {
  endpoint: string;
  client: EmbeddedActorClient;
  inference: InferenceClient;
}

const connections = new Map<string, ActorConnection>();

/** Name of the folder of an arm's actor. */
export function engineName(handle: ArmHandle): string {
  return `${handle.arm}-${handle.phase}`;
}

function engineFolder(run: RunFiles, handle: ArmHandle): string {
  return run.path(enginePath(engineName(handle)));
}

/** Training settings of a recipe, as the actor takes them. */
export function trainingHyper(recipe: Recipe): TrainHyper {
  const { grpo } = recipe;
  return {
    learningRate: grpo.learningRate,
    betas: grpo.adamBetas,
    epsilon: grpo.adamEpsilon,
    weightDecay: grpo.weightDecay,
    gradientClip: grpo.gradientClip,
    klCoefficient: grpo.klCoefficient,
    clip: grpo.clip,
    lossReduction: grpo.lossReduction,
    temperature: grpo.temperature,
  };
}

/** Longest sequence of a recipe: a memory turn's prompt with template, or what the server is to have. */
function contextLength(recipe: Recipe): number {
  return recipe.evaluation.serverContext;
}

/**
 * The arm's actor at a weights version: found through its lease, or started and restored from the last complete checkpoint and
 * the saved rows of later steps. An attempt that was given up cannot change it any more.
 *
 * @throws PipelineError EngineUnavailable, CheckpointInvalid, HostLost when a newer attempt has begun
 */
export async function actorAt(
  run: RunFiles,
  handle: ArmHandle,
  version: number,
  scope: ActivityScope,
  ports: ActivityPorts
): Promise<ActorConnection> {
  const modelDir = resolveInput(run.recipe.model.path ?? '', ports.projectRoot);
  const folder = engineFolder(run, handle);
  const spec = {
    engineDir: folder,
    modelDir,
    referenceDir: modelDir,
    mode: 'actor',
    contextLength: contextLength(run.recipe),
    // As many sequences at once as requests in flight: more memory would serve nobody.
    maxBatch: run.recipe.grpo.rolloutConcurrency,
  } as const;
  await run.enter(engineName(handle));
  scope.watch({
    run,
    name: `${handle.phase}-${handle.arm}`,
    engineFolder: folder,
    ...(run.recipe.rolloutServing === undefined ? {} : { serverFolder: rolloutServerFolder(run, handle) }),
    stop: () => stopActor(run, handle),
  });
  scope.report({ phase: 'restore', step: version });
  const engine = await ensureEngine(spec, scope.signal);
  const connection = await connect(folder, engine.endpoint, run.recipe.grpo.rolloutConcurrency);
  const paths = armPaths(handle.arm, handle.phase);
  const replayed = await restoreTo(connection.client, {
    version,
    checkpointsDir: run.path(paths.checkpoints),
    rows: async (step) => {
      const ref = await run.expect(paths.rows(step));
      return { path: run.path(ref.path), sha256: ref.sha256 };
    },
    hyper: trainingHyper(run.recipe),
    signal: scope.signal,
    onReplay: (step) => scope.report({ phase: 'restore', step, replayed: true }),
  });
  if (replayed > 0)
    ports.log.info({ run: run.handle.pipelineId, arm: handle.arm, version, replayed }, 'actor restored');
  return connection;
}

async function connect(folder: string, endpoint: string, concurrency: number): Promise<ActorConnection> {
  const known = connections.get(folder);
  if (known?.endpoint === endpoint) return known;
  for (const dead of await takeDead(connections)) await close(dead);
  await disconnect(folder);
  const connection: ActorConnection = {
    endpoint,
    client: new EmbeddedActorClient(endpoint),
    // Few attempts: an engine that is gone is started again by the repeated activity, not waited for.
    inference: createInferenceClient({
      protocol: 'sglang',
      endpoint,
      concurrency,
      coalesce: true,
      retry: { attempts: 2 },
    }),
  };
  connections.set(folder, connection);
  return connection;
}

async function disconnect(folder: string): Promise<void> {
  const known = connections.get(folder);
  connections.delete(folder);
  if (known !== undefined) await close(known);
}

async function close({ client, inference }: ActorConnection): Promise<void> {
  await Promise.all([client.close(), inference.close()]);
}

/** Stops an arm's engine, and the server of its rollouts where it has one, and takes away what interrupted activities left unfinished. */
export async function stopActor(run: RunFiles, handle: ArmHandle): Promise<void> {
  const folder = engineFolder(run, handle);
  await disconnect(folder);
  await Promise.all([stopEngine(folder), stopRolloutServer(run, handle)]);
  // Nobody writes for this arm now.
  const place = `arms/${handle.arm}`;
  for (const unfinished of [place, `${META_FOLDER}/${place}`]) await removeUnfinished(run.path(unfinished));
}
