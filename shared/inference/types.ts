/** What every inference server looks like to the rest of the system: one prompt in, one reply out. */

/** Protocols spoken: SGLang's `/generate`, vLLM's token-in token-out endpoint, and OpenAI chat completions (evaluation only). */
export type InferenceProtocol = 'sglang' | 'vllm' | 'openai';

/** Names one draw of a counter-based sampler, so that order, batching and retries never change a token. */
export type SamplingKeyTuple = readonly [seed: number, rolloutId: number, prompt: number, sample: number, turn: number];

export interface RequestMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

/** One independent request. Token ids are the model's own; nothing is carried over between requests. */
export interface GenerateRequest {
  /** The rendered prompt as token ids (ignored by `openai`, which sends `messages`). */
  promptIds: readonly number[];
  /** The same prompt as chat messages; required by `openai`, ignored by the token protocols. */
  messages?: readonly RequestMessage[];
  /** Most new tokens, ≥ 1. */
  maxNewTokens: number;
  /** 0 = greedy. */
  temperature: number;
  topP: number;
  /** Tokens kept before top-p; left out or −1 = all. */
  topK?: number;
  /** Ids that end the reply, besides the server's own end of sequence. */
  stopTokenIds: readonly number[];
  /** Ask for the log-probability of every output token. */
  wantLogProbs: boolean;
  /** Read by servers with a counter-based sampler (the embedded engine); others ignore it. */
  samplingKey?: SamplingKeyTuple;
  /** Per-request seed for servers that have one (vLLM, OpenAI style); 32-bit unsigned. */
  seed?: number;
  /** Thinking switch of the chat template; used by `openai`, where the server renders the prompt. */
  enableThinking?: boolean;
}

export type FinishReason = 'stop' | 'length' | 'abort';

/** A reply whose counts, ids, log-probs and finish reason have been checked. */
export interface GenerateReply {
  /** Ids of the new tokens; null when the protocol has none (`openai`). */
  outputIds: number[] | null;
  /** Text of the reply where the server sent one. Token protocols may leave it null: decode `outputIds`. */
  text: string | null;
  /** Natural-logarithm probability (≤ 0) of each output id when it was sampled; null when not asked for or not available. */
  logProbs: number[] | null;
  finish: FinishReason;
  /** Version of the weights that made the reply, where the server says so. */
  weightsVersion: string | null;
  promptTokens: number;
  completionTokens: number;
}

/** What a server says about itself; null = the protocol does not tell. */
export interface ServerFacts {
  protocol: InferenceProtocol;
  /** Address the client talks to, without credentials. */
  endpoint: string;
  /** Path or id of the model that is loaded. */
  modelPath: string | null;
  /** Names under which the server takes requests, as it lists them; that of `modelPath` first. */
  servedNames: readonly string[];
  /** Tokens of prompt and reply together that one request may have. */
  contextLength: number | null;
  vocabSize: number | null;
  weightsVersion: string | null;
  engineVersion: string | null;
  /** Sampling values that the server uses for fields a request leaves out. */
  samplingDefaults: Record<string, number | string | boolean | null> | null;
  /** Whether equal seeds (or sampling keys) give equal replies: `key` = counter-based, `seed` = per-request seed, `none` = ignored. */
  seeding: 'key' | 'seed' | 'none';
}

export interface GenerateOptions {
  /** Ends the request; the promise rejects with the signal's reason. */
  signal?: AbortSignal;
}

export interface InferenceClient {
  readonly protocol: InferenceProtocol;
  readonly endpoint: string;
  /**
   * @throws PipelineError `GenerationFailed` for a reply that is refused by the server (4xx) or is not what it claims to be,
   *   `EngineUnavailable` when the server could not be reached, answered 5xx/429 or broke off in every attempt
   */
  generate(request: GenerateRequest, options?: GenerateOptions): Promise<GenerateReply>;
  /** Reads the server's facts. @throws PipelineError like `generate` */
  facts(options?: GenerateOptions): Promise<ServerFacts>;
  /** Ends all requests and closes the connections. */
  close(): Promise<void>;
}

/** Waiting times between attempts of one request. */
export interface RetryOptions {
  /** Attempts in all, ≥ 1. Default 6. */
  attempts?: number;
  /** First wait, milliseconds; doubles each time. Default 250. */
  baseDelayMs?: number;
  /** Longest wait, milliseconds, unless the server's `Retry-After` asks for more. Default 15,000. */
  maxDelayMs?: number;
  /** Uniform draws in [0, 1) for the jitter. Default Math.random: waiting times never change a result. */
  random?: () => number;
}

export interface InferenceClientOptions {
  protocol: InferenceProtocol;
  /** Base address, e.g. `http://127.0.0.1:30000`. */
  endpoint: string;
  /** Model name to send; `vllm` and `openai` need one, default = the first of `/v1/models`. */
  model?: string;
  /** Bearer token, for servers behind an API key. */
  apiKey?: string;
  /** Requests in flight at once. Default 16. */
  concurrency?: number;
  /** Time for one attempt from sending to the last byte, milliseconds. Default 600,000. */
  timeoutMs?: number;
  /** Bytes of a decoded response body at most. Default 64 MiB. */
  maxBodyBytes?: number;
  /** Ids must be below this. Default: any non-negative 31-bit integer. */
  vocabSize?: number;
  /**
   * Refuse replies whose count of prompt tokens is not what was sent: such a server cut the prompt. Default true; false is for
   * stand-ins that do not count.
   */
  checkPromptTokens?: boolean;
  retry?: RetryOptions;
  /** SGLang only: send requests issued in the same tick as one batch. Default false. */
  coalesce?: boolean;
  /** Requests in one coalesced batch at most. Default 64. */
  maxBatch?: number;
}
