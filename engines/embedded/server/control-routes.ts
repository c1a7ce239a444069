import { readJsonObject, sendJson, sendText } from './http.js';
import { RequestError } from './request-error.js';
import type { Handler, RouteTable } from './route-types.js';

const FLUSHED =
  'Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, the operation will not be performed.)\n';

/** Waits for the running sequences, then forgets cached beginnings of prompts. */
const flushCache: Handler = async ({ compute }, _request, response) => {
  await compute.call('flush_cache', {});
  sendText(response, 200, FLUSHED);
};

/** Another set of weights of the same shape. On failure the old weights serve on. */
const updateWeights: Handler = async ({ compute, model, mode }, request, response) => {
  const body = await readJsonObject(request);
  const refuse = (message: string): void =>
    sendJson(response, 400, { success: false, message, num_paused_requests: 0 });
  const path = body['model_path'];
  if (typeof path !== 'string' || path === '') return refuse('model_path must be the path of a model folder.');
  if (mode === 'actor') return refuse('the weights of an actor change by training or by loading a checkpoint only.');
  if (body['abort_all_requests'] === true) compute.abort('all');
  const version = body['weight_version'];
  try {
    await compute.call('update_weights', { modelPath: path, ...(typeof version === 'string' ? { version } : {}) });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
  model.path = path;
  model.name = path;
  sendJson(response, 200, { success: true, message: 'Succeeded to update model weights.', num_paused_requests: 0 });
};

const updateVersion: Handler = async ({ compute, mode }, request, response) => {
  const { new_version: version } = await readJsonObject(request);
  if (typeof version !== 'string' || version === '') throw new RequestError(400, 'new_version must be a text.');
  if (mode === 'actor') throw new RequestError(400, "an actor's version is the number of its updates.");
  await compute.call('set_version', { version });
  sendJson(response, 200, { success: true, message: `Weight version updated to ${version}`, new_version: version });
};

/** An id that is not there is no error. */
const abort: Handler = async ({ compute }, request, response) => {
  const { rid, abort_all: all } = await readJsonObject(request);
  if (all === true) compute.abort('all');
  else if (typeof rid === 'string') compute.abort([rid]);
  sendText(response, 200, '');
};

const PAUSE_MODES: readonly unknown[] = ['abort', 'retract', 'in_place'];

/** `abort` ends what runs; the other modes hold it, and `/continue_generation` lets it go on. */
const pause: Handler = async (context, request, response) => {
  const { mode = 'abort' } = await readJsonObject(request);
  if (!PAUSE_MODES.includes(mode)) throw new RequestError(400, 'mode must be abort, retract or in_place.');
  context.paused = true;
  context.compute.pause(true);
  if (mode === 'abort') context.compute.abort('all');
  sendJson(response, 200, { message: 'Generation paused successfully.', status: 'ok' });
};

const resume: Handler = async (context, request, response) => {
  await readJsonObject(request);
  context.paused = false;
  context.compute.pause(false);
  sendJson(response, 200, { message: 'Generation continued successfully.', status: 'ok' });
};

/** What changes the engine's state. */
export const CONTROL_ROUTES: RouteTable = {
  '/flush_cache': { GET: flushCache, POST: flushCache },
  '/update_weights_from_disk': { POST: updateWeights },
  '/update_weight_version': { POST: updateVersion },
  '/abort_request': { POST: abort },
  '/pause_generation': { POST: pause },
  '/continue_generation': { POST: resume },
};
