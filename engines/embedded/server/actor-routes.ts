import type { ComputeCall } from './messages.js';
import { readJsonObject, sendJson } from './http.js';
import { RequestError } from './request-error.js';
import type { Handler, RouteTable } from './route-types.js';

/** A call of the actor: its body goes to the compute thread, which checks it; the reply is what it returns. */
function actorCall(name: ComputeCall): Handler {
  return async ({ compute, mode }, request, response) => {
    if (mode !== 'actor')
      throw new RequestError(400, 'this engine only serves: start it in mode "actor" to train.', 'EngineUnavailable');
    const args = request.method === 'GET' ? {} : await readJsonObject(request);
    sendJson(response, 200, await compute.call(name, args));
  };
}

/** Training and checkpoints; only in mode `actor`. */
export const ACTOR_ROUTES: RouteTable = {
  '/actor/state': { GET: actorCall('state') },
  '/actor/train_step': { POST: actorCall('train_step') },
  '/actor/save_checkpoint': { POST: actorCall('save_checkpoint') },
  '/actor/export_model': { POST: actorCall('export_model') },
  '/actor/score': { POST: actorCall('score') },
  '/actor/load_checkpoint': { POST: actorCall('load_checkpoint') },
  '/actor/reset': { POST: actorCall('reset') },
};
