import { randomUUID } from 'node:crypto';
import type { GenerationRequest } from '../policy-api.js';
import { RequestError } from './request-error.js';
import { samplingKey } from './sampling-key.js';
import { isRecord, parseSamplingParams, type SamplingParams, show } from './sampling-params.js';

/** What a request is checked against. */
export interface ServerLimits {
  vocabSize: number;
  /** Prompt and response together. Unit: tokens. */
  contextLength: number;
  /** Ids that end a response unless `ignore_eos`. */
  eosTokenIds: readonly number[];
  /** Absent when the model has no tokenizer. */
  encode?: (text: string) => number[];
}

/** One sequence to generate, with what its reply must contain. */
export interface GenerateItem {
  request: GenerationRequest;
  wantLogProbs: boolean;
  skipSpecialTokens: boolean;
  noStopTrim: boolean;
  /** `return_prompt_token_ids` */
  wantPromptIds: boolean;
  /** `return_text_in_logprobs` */
  wantTexts: boolean;
}

export interface ParsedGenerate {
  items: (GenerateItem | RequestError)[];
  /** The reply is one object, not a list. */
  single: boolean;
  stream: boolean;
}

/** The items that are no errors, in their order. */
export function goodItems(items: readonly (GenerateItem | RequestError)[]): GenerateItem[] {
  return items.filter((item): item is GenerateItem => !(item instanceof RequestError));
}

type Json = Record<string, unknown>;

/**
 * Reads a `/generate` body: one prompt or a batch (then per-item fields may be lists), `n` samples each. In a batch, a bad item
 * is an error in its own place.
 *
 * @throws RequestError 400 for a single bad request or a body that is no request at all
 */
export function parseGenerate(body: unknown, limits: ServerLimits): ParsedGenerate {
  if (!isRecord(body)) throw new RequestError(400, 'the body must be a JSON object.');
  const { prompts, isBatch } = promptsOf(body, limits);
  const items: (GenerateItem | RequestError)[] = [];
  let isSingle = !isBatch;
  prompts.forEach((prompt, index) => {
    try {
      const samples = parseItem(isBatch ? itemFields(body, index) : body, prompt, limits);
      if (samples.length > 1) isSingle = false;
      items.push(...samples);
    } catch (error) {
      if (!isBatch || !(error instanceof RequestError)) throw error;
      items.push(error);
    }
  });
  checkDistinctIds(items);
  return { items, single: isSingle, stream: body['stream'] === true };
}

/** Fields of a batch that may be given per item. */
const PER_ITEM = ['sampling_params', 'rid', 'return_logprob', 'logprob_start_len', 'top_logprobs_num'] as const;

function itemFields(body: Json, index: number): Json {
  const fields: Json = { ...body };
  for (const name of PER_ITEM) {
    const value = body[name];
    if (Array.isArray(value)) fields[name] = (value as unknown[])[index];
    // One name for a whole batch would be the same name many times.
    else if (name === 'rid' && typeof value === 'string') fields[name] = `${value}_${index}`;
  }
  return fields;
}

/** Token ids go before text when both are there, as in SGLang. */
function promptsOf(body: Json, limits: ServerLimits): { prompts: unknown[]; isBatch: boolean } {
  const ids = body['input_ids'];
  if (ids !== undefined && ids !== null) {
    if (!Array.isArray(ids) || ids.length === 0) throw new RequestError(400, 'input_ids cannot be empty.');
    return Array.isArray(ids[0]) ? { prompts: ids, isBatch: true } : { prompts: [ids], isBatch: false };
  }
  const text = body['text'];
  const texts: unknown[] = Array.isArray(text) ? text : [text];
  if (texts.length === 0 || !texts.every((one) => typeof one === 'string'))
    throw new RequestError(400, 'Either text, input_ids or input_embeds should be provided.');
  const { encode } = limits;
  if (encode === undefined) throw new RequestError(400, 'this model has no tokenizer: send input_ids.');
  return { prompts: texts.map(encode), isBatch: Array.isArray(text) };
}

function parseItem(fields: Json, prompt: unknown, limits: ServerLimits): GenerateItem[] {
  const promptIds = checkIds(prompt, limits);
  const params = fields['sampling_params'] ?? {};
  const sampling = parseSamplingParams(params);
  checkLength(promptIds.length, sampling.maxNewTokens, limits.contextLength);
  const rid = fields['rid'];
  const id = typeof rid === 'string' && rid !== '' ? rid : randomUUID().replaceAll('-', '');
  const wantLogProbs = fields['return_logprob'] === true;
  const topLogProbs = wantLogProbs ? count(fields, 'top_logprobs_num', 0) : 0;
  const from = wantLogProbs ? count(fields, 'logprob_start_len', -1) : -1;
  const { custom_params: custom, sampling_seed: seed } = params as Json;
  return Array.from({ length: sampling.n }, (_, sample) => ({
    wantLogProbs,
    skipSpecialTokens: sampling.skipSpecialTokens,
    noStopTrim: sampling.noStopTrim,
    wantPromptIds: fields['return_prompt_token_ids'] === true,
    wantTexts: fields['return_text_in_logprobs'] === true,
    request: {
      id: sampling.n === 1 ? id : `${id}_${sample}`,
      promptIds,
      maxNewTokens: sampling.maxNewTokens,
      temperature: sampling.temperature,
      topP: sampling.topP,
      topK: sampling.topK,
      stopTokenIds: stopIds(sampling, limits),
      samplingKey: samplingKey(custom, seed, id, sample),
      topLogProbs: Math.min(topLogProbs, limits.vocabSize),
      promptLogProbsFrom: from < 0 ? -1 : Math.min(from, promptIds.length),
    },
  }));
}

/** `ignore_eos` leaves the request's own stop ids out too: SGLang checks neither then. */
function stopIds({ ignoreEos, stopTokenIds }: SamplingParams, limits: ServerLimits): readonly number[] {
  if (ignoreEos) return [];
  return stopTokenIds.length === 0 ? limits.eosTokenIds : [...stopTokenIds, ...limits.eosTokenIds];
}

/** An id outside the vocabulary is an error of this request; the original server dies of it. */
function checkIds(value: unknown, { vocabSize }: ServerLimits): number[] {
  if (!Array.isArray(value) || value.length === 0) throw new RequestError(400, 'input_ids cannot be empty.');
  for (const id of value as unknown[]) {
    if (typeof id === 'number' && id >= 0 && id < vocabSize && Number.isInteger(id)) continue;
    throw new RequestError(400, `input_ids holds ${show(id)}, the vocabulary has the ids 0 to ${vocabSize - 1}.`);
  }
  return value as number[];
}

function checkLength(promptTokens: number, newTokens: number, context: number): void {
  if (promptTokens > context || (promptTokens === context && newTokens > 0)) {
    throw new RequestError(
      400,
      `The input (${promptTokens} tokens) is longer than the model's context length (${context} tokens).`
    );
  }
  const total = promptTokens + newTokens;
  if (total <= context) return;
  throw new RequestError(
    400,
    `Requested token count exceeds the model's maximum context length of ${context} tokens. You requested a total of ${total} tokens: ` +
      `${promptTokens} tokens from the input messages and ${newTokens} tokens for the completion. Please reduce the number of tokens ` +
      'in the input messages or the completion to fit within the limit.'
  );
}

function checkDistinctIds(items: readonly (GenerateItem | RequestError)[]): void {
  if (items.length < 2) return;
  const seen = new Set<string>();
  for (const item of items) {
    if (item instanceof RequestError) continue;
    const { id } = item.request;
    if (seen.has(id)) throw new RequestError(400, `Duplicate request ID detected: ${id}`);
    seen.add(id);
  }
}

function count(fields: Json, name: string, least: number): number {
  const value = fields[name] ?? least;
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  throw new RequestError(400, `${name} must be an integer of at least ${least}, got ${show(value)}.`);
}
