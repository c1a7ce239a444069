import { PipelineError } from '../../shared/contracts/pipeline-error.js';
import { createInferenceClient } from '../../shared/inference/client.js';
import { RequestFailure } from '../../shared/inference/request-failure.js';
import { HttpTransport } from '../../shared/inference/transport.js';

/** Longest time of one update. Unit: milliseconds. */
const UPDATE_MS = 600_000;
const LARGEST_REPLY = 1024 * 1024;

export interface WeightsUpdate {
  endpoint: string;
  apiKey: string | undefined;
  /** Hugging Face model folder, as the server sees it. */
  folder: string;
  /** What the server calls these weights from now on, in every reply. */
  version: string;
}

/**
 * Lets a running SGLang load weights of the same shape from disk (`/update_weights_from_disk`), with its prefix cache flushed, and
 * checks that it holds them.
 *
 * @throws PipelineError EngineUnavailable when it refuses, dies over it, or tells another version afterwards
 */
export async function loadWeights(update: WeightsUpdate, signal: AbortSignal): Promise<void> {
  const { endpoint, apiKey, folder, version } = update;
  const transport = new HttpTransport({
    endpoint,
    apiKey,
    connections: 1,
    timeoutMs: UPDATE_MS,
    maxBodyBytes: LARGEST_REPLY,
  });
  // Without the flush, later answers mix keys and values of old weights with new ones.
  const body = JSON.stringify({ model_path: folder, weight_version: version, flush_cache: true });
  try {
    await transport.json({ method: 'POST', path: '/update_weights_from_disk', body }, signal);
  } catch (error) {
    if (!(error instanceof RequestFailure)) throw error;
    throw notLoaded(update, error.message, error);
  } finally {
    await transport.close();
  }
  const held = await heldVersion(update, signal);
  if (held !== version) throw notLoaded(update, `it tells weights version ${held ?? '(none)'} afterwards`);
}

async function heldVersion(update: WeightsUpdate, signal: AbortSignal): Promise<string | null> {
  const { endpoint, apiKey } = update;
  const client = createInferenceClient({ protocol: 'sglang', endpoint, ...(apiKey === undefined ? {} : { apiKey }) });
  try {
    return (await client.facts({ signal })).weightsVersion;
  } finally {
    await client.close();
  }
}

function notLoaded({ endpoint, folder, version }: WeightsUpdate, reason: string, cause?: unknown): PipelineError {
  return new PipelineError(
    'EngineUnavailable',
    `${endpoint} did not load weights version ${version} from ${folder}: ${reason}`,
    { where: endpoint, cure: `The server must see ${folder}; look at its log, then decide retry.` },
    { cause }
  );
}
