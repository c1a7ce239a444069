import { ensureEngine, stopEngine } from '../engines/embedded/supervisor/supervisor.js';
import { createInferenceClient } from '../shared/inference/client.js';
import type { InferenceClient } from '../shared/inference/types.js';
import { enginePath } from './paths.js';
import type { ActivityPorts, RunFiles } from './ports.js';
import type { ActivityScope } from './scope.js';

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
 * @param name of the engine's folder, one a model
 * @throws PipelineError EngineUnavailable
 */
export async function serve(
  run: RunFiles,
  name: string,
  modelDir: string,
  scope: ActivityScope,
  ports: ActivityPorts
): Promise<ServedEndpoint> {
  const folder = folderOf(run, name);
  const { serverContext, concurrency } = run.recipe.evaluation;
  await run.enter(`serve-${name}`);
  const engine = await ensureEngine(
    { engineDir: folder, modelDir, mode: 'serve', contextLength: serverContext },
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

export async function stopServing(run: RunFiles, name: string): Promise<void> {
  const folder = folderOf(run, name);
  const known = served.get(folder);
  served.delete(folder);
  await known?.inference.close();
  await stopEngine(folder);
}
