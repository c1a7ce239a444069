import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { ChatRequest } from './chat-request.js';
import { usage } from './chat-usage.js';
import { textIds } from './generate-reply.js';
import { endEvents, sendEvent, startEvents } from './http.js';
import type { RouteContext } from './route-types.js';

/** A character of which not all bytes are there yet decodes to this at the end of the text. */
const UNFINISHED = '\ufffd';

/** Server-sent events in OpenAI's form: the role, then pieces of text, then the finish reason, then the usage if asked for. */
export async function streamChat(
  { compute, model }: RouteContext,
  chat: ChatRequest,
  response: ServerResponse
): Promise<void> {
  const head = {
    id: randomUUID().replaceAll('-', ''),
    object: 'chat.completion.chunk',
    created: Math.floor(Date.now() / 1000),
    model: chat.model,
  };
  const send = (index: number, delta: object, finish: { reason: string | null; matched: number | null }): void => {
    const choice = {
      index,
      delta: { reasoning_content: null, ...delta },
      logprobs: null,
      finish_reason: finish.reason,
      matched_stop: finish.matched,
    };
    sendEvent(response, { ...head, choices: [choice] });
  };
  const running = { reason: null, matched: null };
  const texts = chat.items.map((item) => new GrowingText((ids) => model.decode(ids, item.skipSpecialTokens)));
  const made = compute.generate(
    chat.items.map(({ request }) => request),
    (index, tokenId) => {
      // The id that ends the response has no text of its own.
      if (chat.items[index]!.request.stopTokenIds.includes(tokenId)) return;
      const content = texts[index]!.add(tokenId);
      if (content !== '') send(index, { content }, running);
    }
  );
  startEvents(response);
  chat.items.forEach((_, index) => send(index, { role: 'assistant', content: '' }, running));
  let tokens = 0;
  await Promise.all(
    made.map(async (promise, index) => {
      const { result } = await promise;
      tokens += result.outputIds.length;
      const content = texts[index]!.rest(textIds(chat.items[index]!, result));
      if (content !== '') send(index, { content }, running);
      const { finish } = result;
      send(index, {}, { reason: finish.type, matched: finish.type === 'stop' ? finish.matched : null });
    })
  );
  if (chat.includeUsage) sendEvent(response, { ...head, choices: [], usage: usage(chat.promptTokens, tokens) });
  endEvents(response);
}

/** The text of ids that come one by one, given out in pieces that never split a character. */
class GrowingText {
  private readonly ids: number[] = [];
  private sent = 0;

  constructor(private readonly decode: (ids: readonly number[]) => string) {}

  add(id: number): string {
    this.ids.push(id);
    const text = this.decode(this.ids);
    return text.endsWith(UNFINISHED) ? '' : this.piece(text);
  }

  /** What was not given out yet of the whole text. */
  rest(ids: readonly number[]): string {
    return this.piece(this.decode(ids));
  }

  private piece(text: string): string {
    const piece = text.slice(this.sent);
    this.sent = Math.max(this.sent, text.length);
    return piece;
  }
}
