import type { IncomingMessage, ServerResponse } from 'node:http';
import { generateReply } from './generate-reply.js';
import { endEvents, readJsonBody, requireJsonType, sendEvent, sendJson, startEvents } from './http.js';
import { goodItems, parseGenerate, type GenerateItem, type ParsedGenerate } from './parse-generate.js';
import { RequestError } from './request-error.js';
import type { RouteContext } from './route-types.js';
import { isRecord } from './sampling-params.js';
import { streamGenerate } from './stream-generate.js';

/**
 * `/generate`: token ids (or text) in, token ids, log-probs and text out. A batch is answered when all of it is done; an item
 * that is wrong has its error in its own place. A client that goes away aborts its sequences.
 */
export async function generate(
  context: RouteContext,
  request: IncomingMessage,
  response: ServerResponse
): Promise<void> {
  const arrived = performance.now();
  requireJsonType(request);
  const body = await readJsonBody(request);
  let parsed: ParsedGenerate;
  try {
    parsed = parseGenerate(body, context.model.limits);
  } catch (error) {
    if (error instanceof RequestError && isRecord(body) && body['stream'] === true) return streamError(response, error);
    throw error;
  }
  abortWhenClosed(context, response, parsed.items);
  if (parsed.stream) return streamGenerate(context, parsed, response, arrived);
  const bodies = await replies(context, parsed, arrived);
  sendJson(response, 200, parsed.single ? bodies[0] : bodies);
}

async function replies(context: RouteContext, { items, single }: ParsedGenerate, arrived: number): Promise<object[]> {
  const good = goodItems(items);
  const made = await Promise.all(context.compute.generate(good.map((item) => item.request)));
  const seconds = (performance.now() - arrived) / 1000;
  let next = 0;
  return items.map((item) => {
    if (item instanceof RequestError) return item.body();
    const { result, weightVersion } = made[next++]!;
    try {
      return generateReply({ item, result, weightVersion, seconds }, context.model.decode);
    } catch (error) {
      if (single || !(error instanceof RequestError)) throw error;
      return error.body();
    }
  });
}

/** Nobody reads the answer of a closed connection: its sequences make room. */
export function abortWhenClosed(
  context: RouteContext,
  response: ServerResponse,
  items: readonly (GenerateItem | RequestError)[]
): void {
  response.once('close', () => {
    if (response.writableFinished) return;
    context.compute.abort(goodItems(items).map(({ request }) => request.id));
  });
}

/** A request that asked for events gets its error as one. */
function streamError(response: ServerResponse, { message, status }: RequestError): void {
  startEvents(response);
  sendEvent(response, { error: { message, type: 'invalid_request_error', code: status, retryable: false } });
  endEvents(response);
}
