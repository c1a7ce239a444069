import { PipelineError } from '../contracts/pipeline-error.js';
import { Coalescer } from './coalesce.js';
import { Gate } from './gate.js';
import { openaiProtocol } from './openai.js';
import type { Get, Post, Protocol, ProtocolContext } from './protocol.js';
import { idProblem } from './reply-checks.js';
import { RequestFailure } from './request-failure.js';
import { retryPolicy, withRetry, type RetryPolicy } from './retry.js';
import { sglangProtocol } from './sglang.js';
import { HttpTransport } from './transport.js';
import type {
  GenerateOptions,
  GenerateReply,
  GenerateRequest,
  InferenceClient,
  InferenceClientOptions,
  InferenceProtocol,
  ServerFacts,
} from './types.js';
import { vllmProtocol } from './vllm.js';

const DEFAULT_CONCURRENCY = 16;
const DEFAULT_TIMEOUT_MS = 600_000;
const DEFAULT_MAX_BODY_BYTES = 64 * 1024 * 1024;
const DEFAULT_MAX_BATCH = 64;

const PROTOCOLS: Record<InferenceProtocol, (context: ProtocolContext) => Protocol> = {
  sglang: sglangProtocol,
  vllm: vllmProtocol,
  openai: openaiProtocol,
};

/**
 * Makes a client of one inference server. Nothing is sent before the first call.
 *
 * @throws PipelineError GenerationFailed when the endpoint is not an http(s) address
 */
export function createInferenceClient(options: InferenceClientOptions): InferenceClient {
  const concurrency = options.concurrency ?? DEFAULT_CONCURRENCY;
  const transport = new HttpTransport({
    endpoint: options.endpoint,
    apiKey: options.apiKey,
    connections: concurrency,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    maxBodyBytes: options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES,
  });
  const context: ProtocolContext = {
    where: (method, path) => transport.where(method, path),
    checks: { vocabSize: options.vocabSize, checkPromptTokens: options.checkPromptTokens ?? true },
    model: options.model,
  };
  return new HttpInferenceClient(options, transport, context, new Gate(concurrency));
}

class HttpInferenceClient implements InferenceClient {
  readonly protocol: InferenceProtocol;
  readonly endpoint: string;
  private readonly speak: Protocol;
  private readonly policy: RetryPolicy;
  private readonly coalescer: Coalescer | undefined;

  constructor(
    options: InferenceClientOptions,
    private readonly transport: HttpTransport,
    private readonly context: ProtocolContext,
    private readonly gate: Gate
  ) {
    this.protocol = options.protocol;
    this.endpoint = transport.endpoint;
    this.speak = PROTOCOLS[options.protocol](context);
    this.policy = retryPolicy(options.retry);
    if (options.coalesce === true && options.protocol === 'sglang')
      this.coalescer = new Coalescer(transport, context, options.maxBatch ?? DEFAULT_MAX_BATCH);
  }

  async generate(request: GenerateRequest, options: GenerateOptions = {}): Promise<GenerateReply> {
    const { signal } = options;
    const problem = requestProblem(request, this.protocol, this.context.checks.vocabSize);
    if (problem !== undefined) throw new PipelineError('GenerationFailed', `request not sent: ${problem}`);
    // A place is held for one attempt only, so that waiting requests do not stand behind one that backs off.
    return withRetry(() => this.gate.run(() => this.attempt(request, signal), signal), this.policy, signal);
  }

  async facts(options: GenerateOptions = {}): Promise<ServerFacts> {
    const found = await withRetry(() => this.speak.facts(this.getter(options.signal)), this.policy, options.signal);
    return { protocol: this.protocol, endpoint: this.endpoint, ...found };
  }

  close(): Promise<void> {
    return this.transport.close();
  }

  private attempt(request: GenerateRequest, signal: AbortSignal | undefined): Promise<GenerateReply> {
    if (this.coalescer) return this.coalescer.generate(request, signal);
    const post: Post = (path, body) =>
      this.transport.json({ method: 'POST', path, body: JSON.stringify(body) }, signal);
    return this.speak.generate(request, post, this.getter(signal));
  }

  private getter(signal: AbortSignal | undefined): Get {
    return async (path) => {
      try {
        return await this.transport.json({ method: 'GET', path }, signal);
      } catch (error) {
        // Not every server has every path; a server that wants a key, or is down, is another matter.
        if (error instanceof RequestFailure && !error.facts.retryable && error.facts.status !== 401) return null;
        throw error;
      }
    };
  }
}

/** What is wrong with a request, before it is sent: an id outside the vocabulary ends a real SGLang's process. */
function requestProblem(
  request: GenerateRequest,
  protocol: InferenceProtocol,
  vocabSize: number | undefined
): string | undefined {
  if (!Number.isSafeInteger(request.maxNewTokens) || request.maxNewTokens < 1)
    return `maxNewTokens must be an integer ≥ 1, got ${request.maxNewTokens}`;
  if (protocol === 'openai') return undefined;
  if (request.promptIds.length === 0) return 'the prompt has no token';
  return idProblem('prompt id', request.promptIds, vocabSize);
}
