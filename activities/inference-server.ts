import { ensureEngine, stopEngine } from '../engines/embedded/supervisor/supervisor.js';
import { ensureServer, stopServer } from '../engines/serving/server.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { checkServer } from '../shared/evaluation/server-check.js';
import type { ServerLaunch } from '../shared/evaluation/types.js';
import { createInferenceClient } from '../shared/inference/client.js';
import type { InferenceClient, InferenceProtocol } from '../shared/inference/types.js';
import { modelVocabulary } from '../shared/tokenizer/model-vocabulary.js';
import { takeDead } from './dead-connections.js';

export type ServingSettings = NonNullable<Recipe['serving']>;

/** What a folder's inference server is to be. */
export interface WantedServer {
  /** Absolute folder of its lease and log; one server per folder. */
  folder: string;
  /** Absent: the embedded engine. */
  settings: ServingSettings | undefined;
  modelDir: string;
  /** Names under which a running server may serve this model, beside its folder. */
  otherNames?: readonly string[];
  /** Its weights are changed while it runs: whatever it serves now, only its context is checked. */
  changingWeights?: boolean;
  /** Unit: tokens. */
  contextLength: number;
  /** Requests in flight at once. */
  concurrency: number;
}

/** A connection to an inference server. */
export interface InferenceServer {
  endpoint: string;
  apiKey: string | undefined;
  inference: InferenceClient;
  /** Name under which it serves the model: the folder, where it was started here. */
  modelName: string;
  /** Ids of the model, padding included. */
  vocabSize: number | undefined;
  /** How it was started; absent for a server of somebody else and for the embedded engine. */
  launch?: ServerLaunch;
}

/** Connections by folder, kept between activities: to servers that were started here, and to those of somebody else. */
const connections = new Map<string, InferenceServer>();
const foreign = new Map<string, InferenceServer>();

/** Few attempts: an engine of ours that is gone is started again by the repeated activity, not waited for. */
const OWN_RETRY = { attempts: 2 };

/**
 * The inference server of a folder: found through its lease, started, or the running one that the recipe names; checked to be what
 * is wanted.
 *
 * @throws PipelineError EngineUnavailable, OutOfMemory, PinMismatch when a server that was started serves something else
 */
export async function openInferenceServer(wanted: WantedServer, signal: AbortSignal): Promise<InferenceServer> {
  const endpoint = wanted.settings?.endpoint ?? (await startedEndpoint(wanted, signal));
  const isOurs = wanted.settings?.endpoint === undefined;
  const known = connections.get(wanted.folder);
  // What somebody else runs may be another one by now.
  if (known?.endpoint === endpoint && isOurs) return known;
  for (const dead of await takeDead(connections)) await dead.inference.close();
  await closeConnection(wanted.folder);
  const server = await connect(wanted, endpoint, signal);
  (isOurs ? connections : foreign).set(wanted.folder, server);
  return server;
}

/** Closes the connection and stops the server, unless it is somebody else's. Does nothing when there is none. */
export async function closeInferenceServer(folder: string, settings: ServingSettings | undefined): Promise<void> {
  await closeConnection(folder);
  if (settings === undefined || settings.engine === 'embedded') await stopEngine(folder);
  else if (settings.endpoint === undefined) await stopServer(folder);
}

async function closeConnection(folder: string): Promise<void> {
  for (const kept of [connections, foreign]) {
    const known = kept.get(folder);
    kept.delete(folder);
    await known?.inference.close();
  }
}

async function startedEndpoint(wanted: WantedServer, signal: AbortSignal): Promise<string> {
  const { folder, settings, modelDir, contextLength, concurrency } = wanted;
  if (settings === undefined || settings.engine === 'embedded') {
    const spec = { engineDir: folder, modelDir, mode: 'serve', contextLength, maxBatch: concurrency } as const;
    return (await ensureEngine(spec, signal)).endpoint;
  }
  const { engine: kind, command, args, env, startSeconds } = settings;
  const spec = { folder, kind, modelDir, contextLength, command, args, env, startSeconds };
  return (await ensureServer(spec, signal)).endpoint;
}

function protocolOf(settings: ServingSettings | undefined): InferenceProtocol {
  return settings?.engine === 'vllm' ? 'vllm' : 'sglang';
}

async function connect(wanted: WantedServer, endpoint: string, signal: AbortSignal): Promise<InferenceServer> {
  const { settings, modelDir, concurrency } = wanted;
  const isEmbedded = settings === undefined || settings.engine === 'embedded';
  const isOurs = settings?.endpoint === undefined;
  const apiKey = apiKeyOf(settings);
  const vocabSize = await modelVocabulary(modelDir);
  const options = {
    protocol: protocolOf(settings),
    endpoint,
    concurrency,
    ...(vocabSize === undefined ? {} : { vocabSize }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(isOurs ? { retry: OWN_RETRY } : {}),
    // Replies of the embedded engine are small and near; a batch of a large model would wait for its longest reply.
    coalesce: isEmbedded,
  };
  const modelName = isEmbedded ? modelDir : await checkedName(wanted, options, signal);
  return {
    endpoint,
    apiKey,
    inference: createInferenceClient({ ...options, model: modelName }),
    modelName,
    vocabSize,
    ...(isEmbedded || !isOurs ? {} : { launch: launchOf(settings) }),
  };
}

function launchOf({ engine, args, env }: ServingSettings): ServerLaunch {
  return { engine, args, env };
}

/** @throws PipelineError EngineUnavailable: the variable can be set without losing the run */
function apiKeyOf(settings: ServingSettings | undefined): string | undefined {
  if (settings?.tokenEnv === undefined) return undefined;
  const key = process.env[settings.tokenEnv];
  if (key !== undefined && key !== '') return key;
  throw new PipelineError(
    'EngineUnavailable',
    `the environment variable ${settings.tokenEnv} of this worker holds no token for ${settings.endpoint}`,
    { cure: `Set ${settings.tokenEnv} for the worker, restart it, then \`memagent decide RUN --action retry\`.` }
  );
}

/** Asks the server what it serves. @returns the name under which it takes requests for the model */
async function checkedName(
  wanted: WantedServer,
  options: Parameters<typeof createInferenceClient>[0],
  signal: AbortSignal
): Promise<string> {
  const { modelDir, otherNames = [], contextLength, settings, changingWeights = false } = wanted;
  const asking = createInferenceClient({ ...options, model: modelDir });
  try {
    const facts = await asking.facts({ signal });
    const name = [modelDir, ...otherNames].find((each) => facts.servedNames.includes(each));
    checkServer(facts, { modelPath: changingWeights ? undefined : (name ?? modelDir), contextLength });
    return name ?? facts.servedNames[0] ?? modelDir;
  } catch (error) {
    throw settings?.endpoint === undefined ? error : forPerson(error, wanted);
  } finally {
    await asking.close();
  }
}

/** A server that a person runs can be put right by that person: the run waits instead of ending. */
function forPerson(error: unknown, { settings, modelDir, contextLength }: WantedServer): unknown {
  if (!(error instanceof PipelineError) || error.type !== 'PinMismatch') return error;
  const cure = `Serve ${modelDir} with a context of ${contextLength} tokens at ${settings?.endpoint}, then \`memagent decide RUN --action retry\`.`;
  return new PipelineError('EngineUnavailable', error.message, { ...error.details, cure }, { cause: error });
}
