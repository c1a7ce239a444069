import type { IncomingHttpHeaders } from 'node:http';
import { Pool, type Dispatcher } from 'undici';
import { onAbort } from './on-abort.js';
import { printable } from './printable.js';
import { parseRetryAfter } from './retry.js';
import { RequestFailure, statusFailure, unusableReply } from './request-failure.js';

/** Bytes kept of the body of a refused request: enough for its message. */
const ERROR_BODY_BYTES = 64 * 1024;

const CONNECT_TIMEOUT_MS = 10_000;

export interface TransportOptions {
  endpoint: string;
  apiKey?: string | undefined;
  connections: number;
  timeoutMs: number;
  maxBodyBytes: number;
}

interface Outgoing {
  method: 'GET' | 'POST';
  path: string;
  body?: string;
}

/** One HTTP server, spoken to over a pool of kept-alive connections. One call is one attempt. */
export class HttpTransport {
  /** The address without credentials and trailing slash. */
  readonly endpoint: string;
  private readonly pool: Pool;
  private readonly prefix: string;
  private readonly headers: Record<string, string>;
  private readonly running = new Set<Exchange>();
  private closed: Error | undefined;

  constructor(private readonly options: TransportOptions) {
    const url = parseEndpoint(options.endpoint);
    // People give `http://host/v1` for OpenAI-style servers; every path here brings its own `/v1`.
    this.prefix = url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
    this.endpoint = url.origin + this.prefix;
    this.headers = {
      'user-agent': 'memagent-pipeline',
      accept: 'application/json',
      'content-type': 'application/json',
      ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
    };
    this.pool = new Pool(url.origin, {
      connections: options.connections,
      pipelining: 1,
      connectTimeout: Math.min(CONNECT_TIMEOUT_MS, options.timeoutMs),
      // The exchange has one timer for all of it: a server that sends a byte now and then must not hold it open.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Method and full address, for messages. */
  where(method: string, path: string): string {
    return `${method} ${this.endpoint}${path}`;
  }

  /**
   * Sends one request and returns the parsed body of a 2xx JSON reply.
   *
   * @throws RequestFailure for everything else; the signal's reason when it was aborted
   */
  async json(outgoing: Outgoing, signal?: AbortSignal): Promise<unknown> {
    const where = this.where(outgoing.method, outgoing.path);
    const text = await this.exchange(where, outgoing, signal);
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw unparsable(where, text, error);
    }
  }

  /** Ends running exchanges and closes the connections. */
  async close(): Promise<void> {
    this.closed ??= new Error('the inference client was closed');
    for (const exchange of [...this.running]) exchange.fail(this.closed);
    await this.pool.destroy();
  }

  private exchange(where: string, outgoing: Outgoing, signal: AbortSignal | undefined): Promise<string> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.closed) throw this.closed;
      const settle = { resolve, reject, done: (exchange: Exchange) => this.running.delete(exchange) };
      const handler = new Exchange(where, this.options, signal, settle);
      this.running.add(handler);
      this.pool.dispatch(
        {
          method: outgoing.method,
          path: this.prefix + outgoing.path,
          headers: this.headers,
          ...(outgoing.body === undefined ? {} : { body: outgoing.body }),
        },
        handler
      );
    });
  }
}

function parseEndpoint(endpoint: string): URL {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new RequestFailure(endpoint, 'is not the address of an inference server', {
      type: 'GenerationFailed',
      retryable: false,
      cure: 'Write it as http://HOST:PORT.',
    }).toPipelineError(1);
  return url;
}

/** `NaN` and `Infinity` are what Python writes for numbers that JSON does not have: a lie, while a cut body may be whole next time. */
function unparsable(where: string, text: string, cause: unknown): RequestFailure {
  const number = /[[,:\s](NaN|-?Infinity)\b/.exec(text.slice(0, 1_000_000));
  if (number) return unusableReply(where, `it contains ${number[1]}, which is not a number in JSON`);
  return unusableReply(where, `it is not JSON or was cut off (${(cause as Error).message})`, true);
}

interface Outcome {
  resolve: (text: string) => void;
  reject: (error: unknown) => void;
  done: (exchange: Exchange) => void;
}

/** State of one request and its reply; settles exactly once. */
class Exchange implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined;
  private readonly timer: NodeJS.Timeout;
  private readonly forgetSignal: () => void;
  private status = 0;
  private headers: IncomingHttpHeaders = {};
  private chunks: Buffer[] = [];
  private bytes = 0;
  private settled = false;

  constructor(
    private readonly where: string,
    private readonly options: TransportOptions,
    signal: AbortSignal | undefined,
    private readonly outcome: Outcome
  ) {
    this.timer = setTimeout(this.onTimeout, options.timeoutMs);
    this.forgetSignal = onAbort(signal, () => this.fail(signal?.reason));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.settled) controller.abort(new Error('no longer wanted'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.status = status;
    this.headers = headers;
    if (status < 200 || status >= 300) return;
    const problem = headerProblem(headers, this.options.maxBodyBytes);
    if (problem !== undefined) this.fail(unusableReply(this.where, problem));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.settled) return;
    this.chunks.push(chunk);
    this.bytes += chunk.byteLength;
    const good = this.status >= 200 && this.status < 300;
    if (!good && this.bytes > ERROR_BODY_BYTES) this.finish();
    else if (this.bytes > this.options.maxBodyBytes)
      this.fail(unusableReply(this.where, `its body is longer than ${this.options.maxBodyBytes} bytes`));
  }

  onResponseEnd(): void {
    this.finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.settled) return;
    const code = (error as NodeJS.ErrnoException).code;
    const how = this.status === 0 ? 'no answer' : 'the answer broke off';
    const text = `${how}: ${describe(error)}${code === undefined ? '' : ` [${code}]`}`;
    this.fail(new RequestFailure(this.where, text, { type: 'EngineUnavailable', retryable: true }, { cause: error }));
  }

  private readonly onTimeout = (): void => {
    const got = this.status === 0 ? '' : ` (status ${this.status} and ${this.bytes} bytes had come)`;
    this.fail(
      new RequestFailure(this.where, `no complete answer within ${this.options.timeoutMs} ms${got}`, {
        type: 'EngineUnavailable',
        retryable: true,
      })
    );
  };

  private finish(): void {
    if (this.settled) return;
    const text = Buffer.concat(this.chunks).toString('utf8');
    if (this.status >= 200 && this.status < 300) {
      this.settle();
      this.outcome.resolve(text);
      return;
    }
    const retryAfter = this.headers['retry-after'];
    this.fail(
      statusFailure(this.where, {
        status: this.status,
        location: this.headers.location,
        body: text.trim(),
        retryAfterMs: parseRetryAfter(retryAfter, Date.now()),
      })
    );
  }

  fail(error: unknown): void {
    if (this.settled) return;
    this.settle();
    // Rejected first: undici reports the abort back at once, through onResponseError.
    this.outcome.reject(error);
    if (this.controller?.aborted === false) this.controller.abort(new Error('no longer wanted'));
  }

  private settle(): void {
    this.settled = true;
    clearTimeout(this.timer);
    this.forgetSignal();
    this.outcome.done(this);
    this.chunks = [];
  }
}

/** Node joins the failures of several addresses into an AggregateError with an empty message. */
function describe(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((each: Error) => each.message).join('; ');
  return error.message;
}

/** Why a 2xx reply is refused before its body is read; undefined when nothing speaks against it. */
function headerProblem(headers: IncomingHttpHeaders, maxBodyBytes: number): string | undefined {
  const encoding = headers['content-encoding'];
  // Never asked for: a compressed body could be any size once unpacked.
  if (encoding !== undefined && encoding !== 'identity')
    return `it is compressed (content-encoding ${printable(encoding, 100)})`;
  const type = headers['content-type'];
  if (type === undefined || !/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type))
    return `its content type is ${printable(type ?? 'missing', 100)}, not application/json`;
  const length = Number(headers['content-length'] ?? 0);
  if (length > maxBodyBytes) return `its body has ${length} bytes, more than ${maxBodyBytes}`;
  return undefined;
}
