import { removeUnfinished } from '../shared/artifacts/unfinished.js';
import type { ServerLaunch } from '../shared/evaluation/types.js';
import type { InferenceClient } from '../shared/inference/types.js';
import { closeInferenceServer, openInferenceServer } from './inference-server.js';
import { enginePath } from './paths.js';
import type { ActivityPorts, RunFiles } from './ports.js';
import type { ActivityScope } from './scope.js';

/** What is to be served. */
export interface ServedModelSpec {
  /** Of the engine's folder, one a model. */
  name: string;
  modelDir: string;
  /** Requests in flight at once. */
  concurrency: number;
}

/** A served model. */
export interface ServedEndpoint {
  endpoint: string;
  inference: InferenceClient;
  /** Name under which the server takes requests for the model. */
  modelName: string;
  /** Ids of the model, padding included. */
  vocabSize: number | undefined;
  /** How the server was started; absent for a running one and for the embedded engine. */
  launch?: ServerLaunch;
}

function folderOf(run: RunFiles, name: string): string {
  return run.path(enginePath(`serve-${name}`));
}

/**
 * Serves a model folder with the recipe's server settings, the same for every model of a run.
 *
 * @throws PipelineError EngineUnavailable, OutOfMemory, PinMismatch
 */
export async function serve(
  run: RunFiles,
  spec: ServedModelSpec,
  scope: ActivityScope,
  ports: ActivityPorts
): Promise<ServedEndpoint> {
  const { name, modelDir, concurrency } = spec;
  const folder = folderOf(run, name);
  const { serving: settings, evaluation, model } = run.recipe;
  await run.enter(`serve-${name}`);
  scope.watch({ run, name: `serve-${name}`, engineFolder: folder, stop: () => stopServing(run, name) });
  // A phase of its own: a large model takes longer to load than a sample, and `startSeconds` is its limit.
  scope.report({ phase: 'serve', model: name });
  const contextLength = evaluation.serverContext;
  const otherNames = name === 'base' && model.id !== undefined ? [model.id] : [];
  const wanted = { folder, settings, modelDir, otherNames, contextLength, concurrency };
  const server = await openInferenceServer(wanted, scope.signal);
  scope.report({ phase: 'evaluate', model: name });
  ports.log.debug({ run: run.handle.pipelineId, model: name, endpoint: server.endpoint }, 'serving');
  return server;
}

/** Stops the engine of a model and takes away what an interrupted evaluation left unfinished. */
export async function stopServing(run: RunFiles, name: string): Promise<void> {
  await closeInferenceServer(folderOf(run, name), run.recipe.serving);
  await removeUnfinished(run.path(`eval/${name}`));
}
