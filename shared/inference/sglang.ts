import type { Get, Post, Protocol, ProtocolContext } from './protocol.js';
import { countOrNull, stringOrNull } from './protocol.js';
import { listedNames } from './models.js';
import { checkTokenReply, isRecord, show, weightsVersionOf } from './reply-checks.js';
import { RequestFailure, unusableReply } from './request-failure.js';
import { requestSeed } from './seed.js';
import type { GenerateReply, GenerateRequest, ServerFacts } from './types.js';

export const SGLANG_GENERATE = '/generate';

/** Name of our entry in `custom_params`: a real SGLang ignores it, the embedded engine samples by it. */
export const SAMPLING_KEY_PARAM = 'memagent_key';

/** SGLang's native `/generate` with token ids in and out. Output log-probs are those of the tempered distribution. */
export function sglangProtocol(context: ProtocolContext): Protocol {
  return {
    async generate(request: GenerateRequest, post: Post): Promise<GenerateReply> {
      const reply = await post(SGLANG_GENERATE, sglangBody(request));
      return decodeSglangReply(reply, request, context);
    },
    facts: readFacts,
  };
}

function samplingParams(request: GenerateRequest): Record<string, unknown> {
  const seed = requestSeed(request);
  return {
    max_new_tokens: request.maxNewTokens,
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK ?? -1,
    stop_token_ids: request.stopTokenIds,
    // Read only by servers started for deterministic inference.
    ...(seed === undefined ? {} : { sampling_seed: seed }),
    ...(request.samplingKey === undefined ? {} : { custom_params: { [SAMPLING_KEY_PARAM]: request.samplingKey } }),
  };
}

/** Body of a single request. */
export function sglangBody(request: GenerateRequest): unknown {
  return {
    input_ids: request.promptIds,
    sampling_params: samplingParams(request),
    return_logprob: request.wantLogProbs,
  };
}

/** Body of one batch; the reply is a list in the same order. */
export function sglangBatchBody(requests: readonly GenerateRequest[]): unknown {
  return {
    input_ids: requests.map((request) => request.promptIds),
    sampling_params: requests.map(samplingParams),
    return_logprob: requests.map((request) => request.wantLogProbs),
  };
}

/**
 * Checks one reply object, alone or from a batch's list.
 *
 * @throws RequestFailure that says what is wrong with it
 */
export function decodeSglangReply(reply: unknown, request: GenerateRequest, context: ProtocolContext): GenerateReply {
  const where = context.where('POST', SGLANG_GENERATE);
  if (!isRecord(reply)) throw unusableReply(where, `it is ${Array.isArray(reply) ? 'a list' : show(reply)}`);
  if (reply['error'] !== undefined) throw itemFailure(where, reply['error']);
  if (reply['object'] === 'error') throw itemFailure(where, reply['message']);
  const meta = reply['meta_info'];
  if (!isRecord(meta)) throw unusableReply(where, 'it has no meta_info');
  const finish = meta['finish_reason'];
  const pairs = splitLogProbs(meta['output_token_logprobs']);
  const checked = checkTokenReply(
    {
      outputIds: reply['output_ids'] ?? pairs.ids,
      logProbs: pairs.logProbs,
      logProbIds: pairs.ids,
      text: reply['text'],
      finish: isRecord(finish) ? finish['type'] : finish,
      weightsVersion: weightsVersionOf(meta['weight_version'], meta['weight_versions']),
      promptTokens: meta['prompt_tokens'],
      completionTokens: meta['completion_tokens'],
    },
    request,
    context.checks
  );
  if (typeof checked === 'string') throw unusableReply(where, checked);
  return checked;
}

/** `[log-prob, id, text or null]` of each output token. */
function splitLogProbs(value: unknown): { logProbs?: unknown[]; ids?: unknown[] } {
  if (!Array.isArray(value)) return {};
  const entry = (item: unknown, at: number): unknown => (Array.isArray(item) ? (item as unknown[])[at] : item);
  return { logProbs: value.map((item) => entry(item, 0)), ids: value.map((item) => entry(item, 1)) };
}

/** An error in place of one item of a batch. */
function itemFailure(where: string, error: unknown): RequestFailure {
  const message = isRecord(error) ? error['message'] : error;
  return new RequestFailure(where, `this request of the batch failed: ${show(message)}`, {
    type: 'GenerationFailed',
    retryable: false,
  });
}

async function readFacts(get: Get): Promise<Omit<ServerFacts, 'protocol' | 'endpoint'>> {
  // The older name first answers 404 on servers that have only the newer one, and the other way round.
  const model = await firstRecord(get, ['/model_info', '/get_model_info']);
  const server = await firstRecord(get, ['/server_info', '/get_server_info']);
  const models = await firstRecord(get, ['/v1/models']);
  const list: unknown = models['data'];
  const entry: unknown = Array.isArray(list) ? list[0] : undefined;
  return {
    modelPath: stringOrNull(model['model_path']),
    servedNames: listedNames(models),
    contextLength:
      countOrNull(isRecord(entry) ? entry['max_model_len'] : null) ??
      countOrNull(model['context_length']) ??
      countOrNull(server['context_length']),
    vocabSize: countOrNull(model['vocab_size']),
    weightsVersion: stringOrNull(model['weight_version']),
    engineVersion: stringOrNull(server['version']),
    samplingDefaults: samplingDefaults(model['preferred_sampling_params']),
    seeding: model['sampling_key'] === SAMPLING_KEY_PARAM ? 'key' : 'none',
  };
}

async function firstRecord(get: Get, paths: readonly string[]): Promise<Record<string, unknown>> {
  for (const path of paths) {
    const document = await get(path);
    if (isRecord(document)) return document;
  }
  return {};
}

function samplingDefaults(value: unknown): ServerFacts['samplingDefaults'] {
  return isRecord(value) ? scalars(value) : null;
}

/** Settings of a real server are a few dozen short values; whatever else comes is not stored in every result. */
const LONGEST_SETTING = 256;
const MOST_SETTINGS = 100;

/** The members that are plain values. */
export function scalars(value: Record<string, unknown>): NonNullable<ServerFacts['samplingDefaults']> {
  const kept = Object.entries(value).filter(
    (entry): entry is [string, number | string | boolean | null] =>
      entry[0].length <= LONGEST_SETTING && (entry[1] === null || typeof entry[1] !== 'object')
  );
  const short = kept.filter(([, setting]) => typeof setting !== 'string' || setting.length <= LONGEST_SETTING);
  return Object.fromEntries(short.slice(0, MOST_SETTINGS));
}
