import { onAbort } from './on-abort.js';
import type { ProtocolContext } from './protocol.js';
import { RequestFailure, unusableReply } from './request-failure.js';
import { decodeSglangReply, SGLANG_GENERATE, sglangBatchBody, sglangBody } from './sglang.js';
import type { HttpTransport } from './transport.js';
import type { GenerateReply, GenerateRequest } from './types.js';

interface Item {
  request: GenerateRequest;
  resolve: (reply: GenerateReply) => void;
  reject: (error: unknown) => void;
  settled: boolean;
  /** Told once when the item has its outcome, also when its caller gave up. */
  onSettled: () => void;
}

/**
 * Sends requests that are issued in one turn of the event loop as one batch, which spares most of HTTP's cost where replies are
 * small and the server is near. Every request keeps its own outcome: a batch that is refused as a whole is sent again one by
 * one, so that a bad request fails alone.
 */
export class Coalescer {
  private queue: Item[] = [];
  private scheduled = false;

  constructor(
    private readonly transport: HttpTransport,
    private readonly context: ProtocolContext,
    private readonly maxBatch: number
  ) {}

  /** One attempt. Throws RequestFailure, or the signal's reason. */
  generate(request: GenerateRequest, signal?: AbortSignal): Promise<GenerateReply> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const finish = (settle: () => void): void => {
        if (item.settled) return;
        item.settled = true;
        forget();
        item.onSettled();
        settle();
      };
      const item: Item = {
        request,
        settled: false,
        onSettled: () => undefined,
        resolve: (reply) => finish(() => resolve(reply)),
        reject: (error) => finish(() => reject(error as Error)),
      };
      const forget = onAbort(signal, () => finish(() => reject(signal?.reason as Error)));
      this.queue.push(item);
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    // After the microtasks of this turn: replies of the last batch resolve together, and so do their next requests.
    setImmediate(() => {
      this.scheduled = false;
      const items = this.queue.filter((item) => !item.settled);
      this.queue = [];
      for (let at = 0; at < items.length; at += this.maxBatch) void this.sendBatch(items.slice(at, at + this.maxBatch));
    });
  }

  private async sendBatch(items: Item[]): Promise<void> {
    if (items.length === 1) return this.sendOne(items[0] as Item);
    const signal = wantedUntilSettled(items);
    try {
      const body = JSON.stringify(sglangBatchBody(items.map((item) => item.request)));
      const replies = await this.transport.json({ method: 'POST', path: SGLANG_GENERATE, body }, signal);
      if (!Array.isArray(replies) || replies.length !== items.length)
        throw unusableReply(
          this.context.where('POST', SGLANG_GENERATE),
          `a batch of ${items.length} requests was answered with ${Array.isArray(replies) ? `${replies.length} replies` : 'no list'}`
        );
      items.forEach((item, i) => this.settleItem(item, replies[i]));
    } catch (error) {
      const refused = error instanceof RequestFailure && !error.facts.retryable && error.facts.status !== undefined;
      if (refused) await Promise.all(items.map((item) => this.sendOne(item)));
      else for (const item of items) item.reject(error);
    }
  }

  private async sendOne(item: Item): Promise<void> {
    if (item.settled) return;
    const signal = wantedUntilSettled([item]);
    try {
      const body = JSON.stringify(sglangBody(item.request));
      this.settleItem(item, await this.transport.json({ method: 'POST', path: SGLANG_GENERATE, body }, signal));
    } catch (error) {
      item.reject(error);
    }
  }

  private settleItem(item: Item, reply: unknown): void {
    try {
      item.resolve(decodeSglangReply(reply, item.request, this.context));
    } catch (error) {
      item.reject(error);
    }
  }
}

/** Aborted when every item has its outcome: the server need not work for callers that all gave up. */
function wantedUntilSettled(items: readonly Item[]): AbortSignal {
  const controller = new AbortController();
  let open = items.filter((item) => !item.settled).length;
  for (const item of items)
    item.onSettled = () => {
      open -= 1;
      if (open === 0) controller.abort(new Error('no longer wanted'));
    };
  return controller.signal;
}
