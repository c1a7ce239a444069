import type { Get, Post, Protocol, ProtocolContext } from './protocol.js';
import { countOrNull, stringOrNull } from './protocol.js';
import { modelName, readModelEntry } from './models.js';
import { checkTokenReply, isRecord, show, weightsVersionOf, type RawReply } from './reply-checks.js';
import { RequestFailure, unusableReply } from './request-failure.js';
import { requestSeed } from './seed.js';
import type { GenerateReply, GenerateRequest } from './types.js';

const GENERATE = '/inference/v1/generate';
const COMPLETIONS = '/v1/completions';

/**
 * vLLM with token ids in and out: `/inference/v1/generate`, or `/v1/completions` with `return_token_ids` on servers that were
 * started without it. Log-probs are those of the raw distribution, whatever the temperature.
 */
export function vllmProtocol(context: ProtocolContext): Protocol {
  let path: typeof GENERATE | typeof COMPLETIONS = GENERATE;
  const model = modelName(context);
  const send = async (request: GenerateRequest, post: Post, name: string): Promise<GenerateReply> => {
    if (path === COMPLETIONS)
      return decodeCompletion(await post(path, completionBody(request, name)), request, context);
    try {
      return decodeGenerate(await post(path, generateBody(request, name)), request, context);
    } catch (error) {
      if (!isMissingPath(error)) throw error;
      path = COMPLETIONS;
      return send(request, post, name);
    }
  };
  return {
    async generate(request, post, get) {
      return send(request, post, await model(get));
    },
    async facts(get: Get) {
      const entry = await readModelEntry(get, context);
      const version = await get('/version');
      const weights = await get('/weight_info');
      return {
        modelPath: stringOrNull(entry.fields['root']) ?? entry.id,
        servedNames: entry.names,
        contextLength: countOrNull(entry.fields['max_model_len']),
        vocabSize: null,
        weightsVersion: isRecord(weights) ? stringOrNull(weights['weight_version']) : null,
        engineVersion: isRecord(version) ? stringOrNull(version['version']) : null,
        samplingDefaults: null,
        seeding: 'seed',
      };
    },
  };
}

/** 403 or 404 of the path itself; a 404 that names a model is the model's. */
function isMissingPath(error: unknown): boolean {
  if (!(error instanceof RequestFailure)) return false;
  if (error.facts.status === 403) return true;
  return error.facts.status === 404 && !/"(?:param|type)"\s*:\s*"(?:model|NotFoundError)"/.test(error.facts.body ?? '');
}

function commonParams(request: GenerateRequest): Record<string, unknown> {
  const seed = requestSeed(request);
  return {
    max_tokens: request.maxNewTokens,
    temperature: request.temperature,
    top_p: request.topP,
    top_k: request.topK ?? -1,
    stop_token_ids: request.stopTokenIds,
    ...(seed === undefined ? {} : { seed }),
    // 0 = only the token that was sampled.
    ...(request.wantLogProbs ? { logprobs: 0 } : {}),
  };
}

function generateBody(request: GenerateRequest, model: string): unknown {
  return { model, token_ids: request.promptIds, sampling_params: commonParams(request) };
}

function completionBody(request: GenerateRequest, model: string): unknown {
  return { model, prompt: request.promptIds, return_token_ids: true, ...commonParams(request) };
}

function onlyChoice(
  reply: unknown,
  where: string
): { reply: Record<string, unknown>; choice: Record<string, unknown> } {
  if (!isRecord(reply)) throw unusableReply(where, `it is ${show(reply)}`);
  const choices = reply['choices'];
  const choice: unknown = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
  if (!isRecord(choice)) throw unusableReply(where, 'it does not have exactly one choice');
  return { reply, choice };
}

function decodeGenerate(body: unknown, request: GenerateRequest, context: ProtocolContext): GenerateReply {
  const where = context.where('POST', GENERATE);
  const { reply, choice } = onlyChoice(body, where);
  const logProbs = choice['logprobs'];
  const items: unknown = isRecord(logProbs) ? logProbs['content'] : undefined;
  const list = Array.isArray(items) ? items.map((item) => (isRecord(item) ? item : {})) : undefined;
  const raw = rawReply(reply, choice, request);
  return finish(where, request, context, {
    ...raw,
    logProbs: list?.map((item) => item['logprob']),
    ...(list === undefined ? {} : { logProbIds: list.map(itemId) }),
  });
}

function decodeCompletion(body: unknown, request: GenerateRequest, context: ProtocolContext): GenerateReply {
  const where = context.where('POST', COMPLETIONS);
  const { reply, choice } = onlyChoice(body, where);
  const logProbs = choice['logprobs'];
  const raw = rawReply(reply, choice, request);
  return finish(where, request, context, {
    ...raw,
    text: choice['text'],
    logProbs: isRecord(logProbs) ? logProbs['token_logprobs'] : undefined,
  });
}

/** Id of a log-prob entry: a field of its own, before 0.32 `token: "token_id:<n>"`. */
function itemId(item: Record<string, unknown>): unknown {
  if (item['token_id'] !== undefined) return item['token_id'];
  const match = /^token_id:(\d+)$/.exec(String(item['token']));
  return match ? Number(match[1]) : item['token'];
}

function rawReply(reply: Record<string, unknown>, choice: Record<string, unknown>, request: GenerateRequest): RawReply {
  const usage = reply['usage'];
  const ids = choice['token_ids'];
  return {
    outputIds: ids,
    logProbs: undefined,
    text: null,
    finish: choice['finish_reason'],
    weightsVersion: weightsVersionOf(null, choice['weight_versions']),
    // Up to 0.23 `/inference/v1/generate` had no usage block.
    promptTokens: isRecord(usage) ? usage['prompt_tokens'] : request.promptIds.length,
    completionTokens: isRecord(usage) ? usage['completion_tokens'] : Array.isArray(ids) ? ids.length : undefined,
  };
}

function finish(where: string, request: GenerateRequest, context: ProtocolContext, raw: RawReply): GenerateReply {
  const checked = checkTokenReply(raw, request, context.checks);
  if (typeof checked === 'string') throw unusableReply(where, checked);
  return checked;
}
