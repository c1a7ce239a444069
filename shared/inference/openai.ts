import type { Get, Post, Protocol, ProtocolContext } from './protocol.js';
import { countOrNull, stringOrNull } from './protocol.js';
import { modelName, readModelEntry, type ModelEntry } from './models.js';
import { checkTextReply, isRecord, show, weightsVersionOf } from './reply-checks.js';
import { RequestFailure, unusableReply } from './request-failure.js';
import { requestSeed } from './seed.js';
import { scalars } from './sglang.js';
import type { GenerateReply, GenerateRequest, ServerFacts } from './types.js';

const CHAT = '/v1/chat/completions';

/**
 * Chat completions of any OpenAI-style server. Text in, text out: there are no token ids and no log-probs, so it serves
 * evaluation and never training.
 */
export function openaiProtocol(context: ProtocolContext): Protocol {
  const model = modelName(context);
  return {
    async generate(request: GenerateRequest, post: Post, get: Get): Promise<GenerateReply> {
      const where = context.where('POST', CHAT);
      if (request.wantLogProbs || request.messages === undefined) throw wrongUse(where, request);
      return decode(where, await post(CHAT, chatBody(request, await model(get))), request);
    },
    facts: (get) => readFacts(get, context),
  };
}

function wrongUse(where: string, request: GenerateRequest): RequestFailure {
  const problem = request.wantLogProbs
    ? 'chat completions give no token ids and no log-probabilities of them, so nothing can be trained on'
    : 'chat completions need the prompt as messages';
  return new RequestFailure(where, problem, {
    type: 'GenerationFailed',
    retryable: false,
    cure: 'Use protocol sglang or vllm.',
  });
}

function chatBody(request: GenerateRequest, model: string): unknown {
  const seed = requestSeed(request);
  return {
    model,
    messages: request.messages,
    max_tokens: request.maxNewTokens,
    temperature: request.temperature,
    top_p: request.topP,
    // The rest is sent only where it was asked for: strict servers refuse fields that OpenAI's own does not have.
    ...(request.topK === undefined ? {} : { top_k: request.topK }),
    ...(seed === undefined ? {} : { seed }),
    ...(request.enableThinking === undefined
      ? {}
      : { chat_template_kwargs: { enable_thinking: request.enableThinking } }),
  };
}

function decode(where: string, reply: unknown, request: GenerateRequest): GenerateReply {
  if (!isRecord(reply)) throw unusableReply(where, `it is ${show(reply)}`);
  const choices = reply['choices'];
  const choice: unknown = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
  const message = isRecord(choice) ? choice['message'] : undefined;
  if (!isRecord(choice) || !isRecord(message))
    throw unusableReply(where, 'it does not have exactly one choice with a message');
  const usage = isRecord(reply['usage']) ? reply['usage'] : {};
  const metadata = isRecord(reply['metadata']) ? reply['metadata'] : {};
  const checked = checkTextReply(
    {
      outputIds: null,
      logProbs: undefined,
      text: message['content'],
      finish: choice['finish_reason'],
      weightsVersion: weightsVersionOf(metadata['weight_version'], metadata['weight_versions']),
      promptTokens: usage['prompt_tokens'],
      completionTokens: usage['completion_tokens'],
    },
    request
  );
  if (typeof checked === 'string') throw unusableReply(where, checked);
  return checked;
}

/** Facts from `/v1/models`, from llama.cpp's `/props` and from vLLM's `/version`, as far as they are there. */
async function readFacts(get: Get, context: ProtocolContext): Promise<Omit<ServerFacts, 'protocol' | 'endpoint'>> {
  const entry: ModelEntry = await readModelEntry(get, context);
  const meta = isRecord(entry.fields['meta']) ? entry.fields['meta'] : {};
  const props = (await optionalRecord(get, '/props')) ?? {};
  const version = (await optionalRecord(get, '/version')) ?? {};
  const defaults = isRecord(props['default_generation_settings']) ? props['default_generation_settings'] : {};
  return {
    modelPath: stringOrNull(props['model_path']) ?? stringOrNull(entry.fields['root']) ?? entry.id,
    servedNames: entry.names,
    contextLength:
      countOrNull(entry.fields['max_model_len']) ?? countOrNull(meta['n_ctx']) ?? countOrNull(defaults['n_ctx']),
    vocabSize: countOrNull(meta['n_vocab']),
    weightsVersion: null,
    engineVersion: stringOrNull(version['version']) ?? stringOrNull(props['build_info']),
    samplingDefaults: isRecord(defaults['params']) ? scalars(defaults['params']) : null,
    seeding: 'seed',
  };
}

async function optionalRecord(get: Get, path: string): Promise<Record<string, unknown> | null> {
  const document = await get(path);
  return isRecord(document) ? document : null;
}
