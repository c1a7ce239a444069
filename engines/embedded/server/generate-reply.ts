import type { GenerationResult, TopLogProb } from '../policy-api.js';
import type { GenerateItem } from './parse-generate.js';
import { RequestError } from './request-error.js';

/** Text of token ids. */
export type Decode = (ids: readonly number[], skipSpecialTokens: boolean) => string;

/** `[log-prob, id, text or null]` */
type LogProbTriple = [number | null, number, string | null];

/** What a reply is made of. */
export interface Made {
  item: GenerateItem;
  result: GenerationResult;
  weightVersion: string;
  /** Time from the request's arrival, seconds. */
  seconds: number;
}

/**
 * Builds one reply object of `/generate`, in SGLang's shape (recorded from SGLang 0.5.23).
 *
 * @throws RequestError 400 when the policy refused the request
 */
export function generateReply(made: Made, decode: Decode): Record<string, unknown> {
  const { item, result, weightVersion } = made;
  if (result.finish.type === 'error') throw new RequestError(400, result.finish.message);
  const { request } = item;
  const length = result.outputIds.length;
  const logProbs = item.wantLogProbs ? logProbFields(item, result, decode) : {};
  const reply: Record<string, unknown> = {
    text: decode(textIds(item, result), item.skipSpecialTokens),
    output_ids: result.outputIds,
    meta_info: {
      id: request.id,
      finish_reason: finishReason(result, request.maxNewTokens),
      prompt_tokens: request.promptIds.length,
      weight_version: weightVersion,
      num_retractions: 0,
      ...logProbs,
      reasoning_tokens: 0,
      completion_tokens: length,
      cached_tokens: 0,
      weight_versions: [{ version: weightVersion, start: 0, end: length }],
      cached_tokens_details: null,
      dp_rank: null,
      e2e_latency: made.seconds,
    },
  };
  if (item.wantPromptIds) reply['prompt_token_ids'] = request.promptIds;
  return reply;
}

/** The text does not show the id that ended the response, `output_ids` does. */
export function textIds(item: GenerateItem, { finish, outputIds }: GenerationResult): readonly number[] {
  return finish.type === 'stop' && !item.noStopTrim ? outputIds.slice(0, -1) : outputIds;
}

function finishReason({ finish }: GenerationResult, maxNewTokens: number): object {
  switch (finish.type) {
    case 'stop':
      return { type: 'stop', matched: finish.matched };
    case 'length':
      return { type: 'length', length: maxNewTokens };
    case 'abort':
    case 'error':
      return { type: 'abort', message: 'Aborted', status_code: null, err_type: null };
  }
}

function logProbFields(item: GenerateItem, result: GenerationResult, decode: Decode): object {
  const { promptIds, promptLogProbsFrom: from, topLogProbs } = item.request;
  const textOf = (id: number): string | null => (item.wantTexts ? decode([id], false) : null);
  const triple = (logProb: number | null, id: number): LogProbTriple => [logProb, id, textOf(id)];
  const { outputLogProbs, outputTop, promptLogProbs, promptTop } = result;
  const fields = {
    input_token_logprobs: promptLogProbs.map((logProb, i) => triple(logProb, promptIds[from + i] as number)),
    output_token_logprobs: result.outputIds.map((id, i) => triple(outputLogProbs[i] as number, id)),
    output_token_logprobs_length: result.outputIds.length,
  };
  if (topLogProbs === 0) return fields;
  const triples = (top: readonly TopLogProb[]): LogProbTriple[] => top.map(({ id, logProb }) => triple(logProb, id));
  const input = promptTop.map((top) => (top === null ? null : triples(top)));
  return { ...fields, input_top_logprobs: input, output_top_logprobs: outputTop.map(triples) };
}
