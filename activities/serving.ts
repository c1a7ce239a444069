import { ensureEngine, stopEngine } from '../engines/embedded/supervisor/supervisor.js';
import { removeUnfinished } from '../shared/artifacts/unfinished.js';
import { createInferenceClient } from '../shared/inference/client.js';
import type { InferenceClient } from '../shared/inference/types.js';
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
}

const served = new Map<string, ServedEndpoint>();

function folderOf(run: RunFiles, name: string): string {
  return run.path(enginePath(`serve-${name}`));
}

/**
 * Serves a model folder with the recipe's server settings, the same for every model of a run.
 *
 * @throws PipelineError EngineUnavailable, OutOfMemory
 */
export async function serve(
  run: RunFiles,
  spec: ServedModelSpec,
  scope: ActivityScope,
  ports: ActivityPorts
): Promise<ServedEndpoint> {
  const { name, modelDir, concurrency } = spec;
  const folder = folderOf(run, name);
  await run.enter(`serve-${name}`);
  scope.watch({ run, name: `serve-${name}`, engineFolder: folder, stop: () => stopServing(run, name) });
  scope.report({ phase: 'evaluate', model: name });
  const contextLength = run.recipe.evaluation.serverContext;
  const engine = await ensureEngine(
    { engineDir: folder, modelDir, mode: 'serve', contextLength, maxBatch: concurrency },
    scope.signal
  );
  const known = served.get(folder);
  if (known?.endpoint === engine.endpoint) return known;
  await known?.inference.close();
  ports.log.debug({ run: run.handle.pipelineId, model: name, endpoint: engine.endpoint }, 'serving');
  const inference = createInferenceClient({
    protocol: 'sglang',
    endpoint: engine.endpoint,
    concurrency,
    coalesce: true,
    retry: { attempts: 2 },
  });
  const connection: ServedEndpoint = { endpoint: engine.endpoint, inference };
  served.set(folder, connection);
  return connection;
}

/** Stops the engine of a model and takes away what an interrupted evaluation left unfinished. */
export async function stopServing(run: RunFiles, name: string): Promise<void> {
  const folder = folderOf(run, name);
  const known = served.get(folder);
  served.delete(folder);
  await known?.inference.close();
  await stopEngine(folder);
  await removeUnfinished(run.path(`eval/${name}`));
}
