import type { ChatMessage } from '../../../shared/tokenizer/types.js';
import { parseGenerate, type GenerateItem } from './parse-generate.js';
import { RequestError, validationError } from './request-error.js';
import { isRecord, show } from './sampling-params.js';
import type { ServedModel } from './served-model.js';

type Json = Record<string, unknown>;

/** A checked `/v1/chat/completions` body. */
export interface ChatRequest {
  items: GenerateItem[];
  model: string;
  promptTokens: number;
  stream: boolean;
  includeUsage: boolean;
  wantLogProbs: boolean;
  returnTokenIds: boolean;
  returnPromptTokenIds: boolean;
  returnMetaInfo: boolean;
}

const ROLES: readonly unknown[] = ['system', 'user', 'assistant'] satisfies ChatMessage['role'][];

/** Members that change the reply in ways this engine does not offer; null, false and empty are fine. */
const NOT_OFFERED = ['tools', 'response_format', 'regex', 'ebnf', 'stop', 'logit_bias'] as const;

/** @throws RequestError 400 */
export function parseChat(body: Json, model: ServedModel): ChatRequest {
  if (model.renderIds === undefined)
    throw new RequestError(400, 'this model has no tokenizer: use /generate with input_ids.');
  const messages = messagesOf(body);
  for (const name of NOT_OFFERED) {
    const value = body[name];
    const isOff =
      value === undefined ||
      value === null ||
      value === false ||
      (typeof value === 'object' && Object.keys(value).length === 0);
    if (!isOff) throw new RequestError(400, `${name} ${show(value)} is not offered by this engine: leave it out.`);
  }
  const kwargs = body['chat_template_kwargs'];
  const thinking = isRecord(kwargs) ? kwargs['enable_thinking'] : undefined;
  const promptIds = model.renderIds(messages, typeof thinking === 'boolean' ? thinking : null);
  const wantLogProbs = body['logprobs'] === true;
  const parsed = parseGenerate(
    {
      input_ids: promptIds,
      rid: body['rid'],
      sampling_params: samplingParams(body, promptIds.length, model.limits.contextLength),
      return_logprob: wantLogProbs,
      top_logprobs_num: body['top_logprobs'] ?? 0,
      return_text_in_logprobs: true,
    },
    model.limits
  );
  const options = body['stream_options'];
  return {
    items: parsed.items as GenerateItem[],
    model: typeof body['model'] === 'string' ? body['model'] : model.name,
    promptTokens: promptIds.length,
    stream: body['stream'] === true,
    includeUsage: isRecord(options) && options['include_usage'] === true,
    wantLogProbs,
    returnTokenIds: body['return_token_ids'] === true,
    returnPromptTokenIds: body['return_prompt_token_ids'] === true,
    returnMetaInfo: body['return_meta_info'] === true,
  };
}

function messagesOf({ messages }: Json): ChatMessage[] {
  if (messages === undefined)
    throw validationError(`{'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required'}`);
  if (!Array.isArray(messages))
    throw validationError(`{'type': 'list_type', 'loc': ('body', 'messages'), 'msg': 'Input should be a valid list'}`);
  if (messages.length === 0) throw new RequestError(400, 'messages cannot be empty.');
  messages.forEach((message: unknown, index) => {
    const isValid = isRecord(message) && ROLES.includes(message['role']) && typeof message['content'] === 'string';
    if (!isValid)
      throw validationError(
        `{'type': 'value_error', 'loc': ('body', 'messages', ${index}), 'msg': 'Input should be {role: system, user or assistant, content: text}'}`
      );
  });
  return messages as ChatMessage[];
}

function samplingParams(body: Json, promptTokens: number, context: number): Json {
  const most = body['max_completion_tokens'] ?? body['max_tokens'];
  if (typeof most === 'number' && most > context) {
    throw new RequestError(
      400,
      `max_completion_tokens is too large: ${most}.This model supports at most ${context} completion tokens.`
    );
  }
  return {
    max_new_tokens: most ?? Math.max(0, context - promptTokens),
    temperature: body['temperature'],
    top_p: body['top_p'],
    top_k: body['top_k'],
    n: body['n'],
    stop_token_ids: body['stop_token_ids'],
    ignore_eos: body['ignore_eos'],
    skip_special_tokens: body['skip_special_tokens'],
    sampling_seed: body['seed'],
    custom_params: body['custom_params'],
  };
}
