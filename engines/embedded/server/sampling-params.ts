import { RequestError } from './request-error.js';

type Json = Record<string, unknown>;

/** Checked sampling parameters of one request, defaults filled in (SGLang's). */
export interface SamplingParams {
  maxNewTokens: number;
  temperature: number;
  topP: number;
  topK: number;
  n: number;
  stopTokenIds: number[];
  ignoreEos: boolean;
  skipSpecialTokens: boolean;
  noStopTrim: boolean;
}

/** SGLang's default of `max_new_tokens`. */
const DEFAULT_NEW_TOKENS = 128;
const MOST_SAMPLES = 1024;

/** In the order of SGLang's own message. */
const KNOWN =
  'max_new_tokens stop stop_token_ids stop_regex temperature top_p top_k min_p frequency_penalty presence_penalty repetition_penalty min_new_tokens n json_schema regex ebnf structural_tag ignore_eos skip_special_tokens spaces_between_special_tokens no_stop_trim stream_interval logit_bias sampling_seed custom_params beam_width watermark choice'.split(
    ' '
  );
const KNOWN_SET: ReadonlySet<string> = new Set(KNOWN);

/** Parameters that this engine does not have, with the value that leaves them off. */
const OFF: Readonly<Record<string, unknown>> = {
  stop: null,
  stop_regex: null,
  min_p: 0,
  frequency_penalty: 0,
  presence_penalty: 0,
  repetition_penalty: 1,
  min_new_tokens: 0,
  json_schema: null,
  regex: null,
  ebnf: null,
  structural_tag: null,
  logit_bias: null,
  beam_width: null,
  watermark: null,
  choice: null,
};

/** @throws RequestError 400 naming the parameter, its rule and what was sent */
export function parseSamplingParams(params: unknown): SamplingParams {
  if (!isRecord(params)) throw new RequestError(400, 'sampling_params must be an object.');
  checkNames(params);
  const temperature = params['temperature'] ?? 1;
  if (!isFinite(temperature) || temperature < 0)
    throw new RequestError(400, `temperature must be a non-negative finite number, got ${show(temperature)}.`);
  const topP = params['top_p'] ?? 1;
  if (!isFinite(topP) || topP <= 0 || topP > 1)
    throw new RequestError(400, `top_p must be in (0, 1], got ${show(topP)}.`);
  const topK = params['top_k'] ?? -1;
  if (!Number.isSafeInteger(topK) || ((topK as number) < 1 && topK !== -1))
    throw new RequestError(400, `top_k must be -1 (disable) or at least 1, got ${show(topK)}.`);
  return {
    maxNewTokens: integer(params, 'max_new_tokens', DEFAULT_NEW_TOKENS, 0, Number.MAX_SAFE_INTEGER),
    temperature,
    topP,
    topK: topK as number,
    n: integer(params, 'n', 1, 1, MOST_SAMPLES),
    stopTokenIds: stopTokenIds(params),
    ignoreEos: params['ignore_eos'] === true,
    skipSpecialTokens: params['skip_special_tokens'] !== false,
    noStopTrim: params['no_stop_trim'] === true,
  };
}

function checkNames(params: Json): void {
  for (const name in params) {
    if (!KNOWN_SET.has(name)) {
      const list = KNOWN.map((known) => `\`${known}\``).join(', ');
      throw new RequestError(
        400,
        `unknown field \`${name.slice(0, 100)}\`, expected one of ${list}`,
        undefined,
        'text'
      );
    }
    const value = params[name];
    if (!(name in OFF) || value === null || value === OFF[name] || isEmpty(value)) continue;
    throw new RequestError(400, `${name} ${show(value)} is not offered by this engine: leave it out.`);
  }
}

function stopTokenIds(params: Json): number[] {
  const ids = params['stop_token_ids'] ?? [];
  if (!Array.isArray(ids) || !ids.every((id) => Number.isSafeInteger(id)))
    throw new RequestError(400, `stop_token_ids must be a list of integers, got ${show(ids)}.`);
  return ids as number[];
}

function integer(holder: Json, name: string, fallback: number, least: number, most: number): number {
  const value = holder[name] ?? fallback;
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  throw new RequestError(400, `${name} must be an integer of at least ${least}, got ${show(value)}.`);
}

function isFinite(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** A value for an error message, at most 40 characters. */
export function show(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 40);
}

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
