import type { ServerResponse } from 'node:http';
import type { GenerationResult } from '../policy-api.js';
import { emptyResult } from './empty-result.js';
import { generateReply } from './generate-reply.js';
import { endEvents, sendEvent, startEvents } from './http.js';
import { goodItems, type GenerateItem, type ParsedGenerate } from './parse-generate.js';
import { RequestError } from './request-error.js';
import type { RouteContext } from './route-types.js';

/**
 * Server-sent events: one a token, each with everything so far (SGLang's default form), then one with the finish reason, then
 * `[DONE]`. With several sequences every event has its `index`. Top log-probs come with the last event only.
 */
export async function streamGenerate(
  context: RouteContext,
  { items, single }: ParsedGenerate,
  response: ServerResponse,
  arrived: number
): Promise<void> {
  const good = goodItems(items);
  const { compute, model } = context;
  const event = (item: GenerateItem, result: GenerationResult, weightVersion: string): Record<string, unknown> => {
    const seconds = (performance.now() - arrived) / 1000;
    const reply = generateReply({ item, result, weightVersion, seconds }, model.decode);
    return single ? reply : { index: items.indexOf(item), ...reply };
  };
  const partials = good.map(({ request }) => emptyResult(request.id, { type: 'length' }));
  const made = compute.generate(
    good.map(({ request }) => request),
    (index, tokenId, logProb) => {
      const partial = partials[index]!;
      partial.outputIds.push(tokenId);
      partial.outputLogProbs.push(logProb);
      sendEvent(response, unfinished(event(good[index]!, partial, compute.weightVersion)), true);
    }
  );
  startEvents(response);
  for (const item of items)
    if (item instanceof RequestError) sendEvent(response, { index: items.indexOf(item), ...item.body() });
  await Promise.all(
    made.map(async (promise, index) => {
      const { result, weightVersion } = await promise;
      const failure = result.finish.type === 'error' ? new RequestError(400, result.finish.message).body() : undefined;
      sendEvent(response, failure ?? event(good[index]!, result, weightVersion));
    })
  );
  endEvents(response);
}

function unfinished(reply: Record<string, unknown>): Record<string, unknown> {
  const meta = { ...(reply['meta_info'] as Record<string, unknown>), finish_reason: null };
  return { ...reply, meta_info: meta };
}
