import { request } from 'undici';
import { PipelineError } from '../../contracts/pipeline-error.js';
import { delay, retryDelayMs, retryPolicy, type RetryPolicy } from '../../inference/retry.js';
import { isTransient, refusal } from './hub-errors.js';
import type { HubPorts, HubReply, HubRequest } from './hub-types.js';

const DEFAULT_ENDPOINT = 'https://huggingface.co';
const MAX_REDIRECTS = 5;
/** A server that says nothing for this long is given up, and the request repeated. Unit: milliseconds. */
const IDLE_MS = 60_000;

/** HTTP to a Hugging Face hub: token, redirects, patience. */
export class HubClient {
  /** Without a slash at the end. */
  readonly endpoint: string;
  readonly retry: RetryPolicy;
  readonly signal: AbortSignal | undefined;
  /** Never printed, never sent to another origin than the endpoint's. */
  readonly #token: string | undefined;

  constructor({ env = process.env, signal, retry = {} }: HubPorts) {
    this.endpoint = (env['HF_ENDPOINT'] || DEFAULT_ENDPOINT).replace(/\/+$/, '');
    if (!URL.canParse(this.endpoint)) {
      const cure = 'Set it to an address such as https://huggingface.co, or leave it out';
      throw new PipelineError('DataInvalid', `HF_ENDPOINT is not an address: ${this.endpoint}. ${cure}`, { cure });
    }
    this.#token = env['HF_TOKEN'] || undefined;
    this.signal = signal;
    this.retry = retryPolicy(retry);
  }

  get hasToken(): boolean {
    return this.#token !== undefined;
  }

  /**
   * One request, redirects followed. The token goes to the hub's own origin only: links to a content network carry their own
   * permission. The caller reads or dumps the body.
   *
   * @throws undici's errors when the connection fails
   */
  async send(url: string, options: HubRequest = {}): Promise<HubReply> {
    const own = new URL(this.endpoint).origin;
    let target = new URL(url);
    let { method = 'GET', body } = options;
    let commit: string | undefined;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const fromHub = target.origin === own;
      const reply = await request(target, {
        method,
        headers: this.headersFor(fromHub, options.headers),
        body: body ?? null,
        headersTimeout: IDLE_MS,
        bodyTimeout: IDLE_MS,
        signal: this.signal ?? null,
      });
      const headers = flat(reply.headers);
      if (fromHub) commit = headers['x-repo-commit'] ?? commit;
      const location = headers['location'];
      const { statusCode: status } = reply;
      if (status < 300 || status >= 400 || location === undefined) {
        return { status, headers, body: reply.body, fromHub, ...(commit !== undefined && { commit }) };
      }
      await reply.body.dump();
      if (status === 303) [method, body] = ['GET', undefined];
      target = new URL(location, target);
    }
    throw new Error(`more than ${MAX_REDIRECTS} redirects`);
  }

  /**
   * `fetch` for @huggingface/hub: its small API calls, repeated on passing faults, refusals as PipelineError.
   */
  apiFetch(what: string): typeof fetch {
    return async (input, init) => {
      const url = typeof input === 'string' ? input : input instanceof URL ? input.href : input.url;
      const headers = Object.fromEntries(new Headers(init?.headers).entries());
      const body = typeof init?.body === 'string' ? { body: init.body } : {};
      const call: HubRequest = { method: init?.method === 'POST' ? 'POST' : 'GET', headers, ...body };
      return this.withPatience(what, async () => {
        const reply = await this.send(url, call);
        const text = await reply.body.text();
        if (reply.status >= 300) throw refusal(reply, text, what, this);
        return new Response(text, { status: reply.status, headers: reply.headers });
      });
    };
  }

  /** Repeats while the hub cannot be reached or answers 429 or 5xx. */
  async withPatience<T>(what: string, call: () => Promise<T>): Promise<T> {
    for (let failed = 1; ; failed += 1) {
      try {
        return await call();
      } catch (error) {
        await this.waitAfter(error, failed, what);
      }
    }
  }

  /** Waits before the next try, or throws when there is to be none. */
  async waitAfter(error: unknown, failed: number, what: string): Promise<void> {
    this.signal?.throwIfAborted();
    if (error instanceof PipelineError && !isTransient(error)) throw error;
    if (failed >= this.retry.attempts) throw this.unreachable(error, failed, what);
    const wanted = isTransient(error) ? error.retryAfterMs : undefined;
    await delay(retryDelayMs(this.retry, failed, wanted), this.signal);
  }

  private unreachable(error: unknown, failed: number, what: string): PipelineError {
    const cure =
      'Check the network and HF_ENDPOINT, then run again: what has arrived is kept and the download goes on from there';
    const reason = error instanceof Error ? error.message : String(error);
    return new PipelineError(
      'EngineUnavailable',
      `${what} could not be fetched from ${this.endpoint} in ${failed} tries: ${reason}. ${cure}`,
      { where: this.endpoint, cure },
      { cause: error }
    );
  }

  private headersFor(fromHub: boolean, headers: Record<string, string> = {}): Record<string, string> {
    const common = { 'user-agent': 'memagent-pipeline', ...headers };
    return fromHub && this.#token !== undefined ? { ...common, authorization: `Bearer ${this.#token}` } : common;
  }
}

function flat(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const single: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) single[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return single;
}
