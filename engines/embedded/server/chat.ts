import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ChatRequest, parseChat } from './chat-request.js';
import { streamChat } from './chat-stream.js';
import { usage } from './chat-usage.js';
import type { Generated } from './compute-thread.js';
import { abortWhenClosed } from './generate.js';
import { type Decode, generateReply, textIds } from './generate-reply.js';
import { readJsonObject, requireJsonType, sendError, sendJson } from './http.js';
import type { GenerateItem } from './parse-generate.js';
import { RequestError } from './request-error.js';
import type { RouteContext } from './route-types.js';

/** `/v1/chat/completions`: the OpenAI shape over the same generation, without tools. */
export async function chatCompletion(
  context: RouteContext,
  request: IncomingMessage,
  response: ServerResponse
): Promise<void> {
  try {
    requireJsonType(request);
    const chat = parseChat(await readJsonObject(request), context.model);
    abortWhenClosed(context, response, chat.items);
    if (chat.stream) return await streamChat(context, chat, response);
    sendJson(response, 200, await complete(context, chat));
  } catch (error) {
    sendError(response, error, 'openai');
  }
}

async function complete({ compute, model }: RouteContext, chat: ChatRequest): Promise<object> {
  const arrived = performance.now();
  const made = await Promise.all(compute.generate(chat.items.map(({ request }) => request)));
  const seconds = (performance.now() - arrived) / 1000;
  const choices = made.map((one, index) =>
    choice(chat, chat.items[index]!, one, { index, seconds, decode: model.decode })
  );
  const tokens = made.reduce((sum, { result }) => sum + result.outputIds.length, 0);
  const [first] = made;
  const version = first?.weightVersion ?? compute.weightVersion;
  return {
    id: chat.items.length === 1 ? chat.items[0]!.request.id : randomUUID().replaceAll('-', ''),
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: chat.model,
    choices,
    usage: usage(chat.promptTokens, tokens),
    metadata: {
      weight_version: version,
      weight_versions: [{ version, start: 0, end: first?.result.outputIds.length ?? 0 }],
    },
  };
}

function choice(
  chat: ChatRequest,
  item: GenerateItem,
  { result, weightVersion }: Generated,
  { index, seconds, decode }: { index: number; seconds: number; decode: Decode }
): object {
  const { finish } = result;
  if (finish.type === 'error') throw new RequestError(400, finish.message);
  return {
    index,
    message: {
      role: 'assistant',
      content: decode(textIds(item, result), item.skipSpecialTokens),
      reasoning_content: null,
    },
    logprobs: chat.wantLogProbs ? { content: tokenLogProbs(result, decode) } : null,
    finish_reason: finish.type,
    matched_stop: finish.type === 'stop' ? finish.matched : null,
    ...(chat.returnPromptTokenIds ? { prompt_token_ids: item.request.promptIds } : {}),
    ...(chat.returnTokenIds ? { response_token_ids: result.outputIds } : {}),
    ...(chat.returnMetaInfo
      ? { meta_info: generateReply({ item, result, weightVersion, seconds }, decode)['meta_info'] }
      : {}),
  };
}

function tokenLogProbs({ outputIds, outputLogProbs, outputTop }: Generated['result'], decode: Decode): object[] {
  const entry = (id: number, logProb: number): { token: string; bytes: number[]; logprob: number } => {
    const token = decode([id], false);
    return { token, bytes: [...Buffer.from(token, 'utf8')], logprob: logProb };
  };
  return outputIds.map((id, i) => ({
    ...entry(id, outputLogProbs[i]!),
    top_logprobs: (outputTop[i] ?? []).map((top) => entry(top.id, top.logProb)),
  }));
}
