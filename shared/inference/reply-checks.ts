import type { FinishReason, GenerateReply, GenerateRequest } from './types.js';
import { printable } from './printable.js';

/** Characters that one token can stand for at most; the longest entries of today's vocabularies have 256. */
const MAX_CHARACTERS_PER_TOKEN = 1024;

/** Any id above is not a token of any model. */
const MAX_TOKEN_ID = 0x7fff_ffff;

/** A reply as the server gave it, fields of unknown form. */
export interface RawReply {
  outputIds: unknown;
  /** One entry an output token, or undefined when none came. */
  logProbs: unknown;
  /** Ids that the server attached to the log-probs, where it does. */
  logProbIds?: unknown;
  text: unknown;
  finish: unknown;
  weightsVersion: string | null;
  promptTokens: unknown;
  completionTokens: unknown;
}

export interface CheckOptions {
  /** Ids must be below; undefined = unknown. */
  vocabSize: number | undefined;
  /** Compare the server's count of prompt tokens with what was sent. */
  checkPromptTokens: boolean;
}

const FINISH_REASONS: readonly FinishReason[] = ['stop', 'length', 'abort'];

/** A value from the server in a message: short and harmless. */
export function show(value: unknown): string {
  return printable(JSON.stringify(value) ?? String(value), 80);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** First entry that is not an id of the vocabulary, as a sentence; undefined when all are. */
export function idProblem(name: string, ids: readonly unknown[], vocabSize: number | undefined): string | undefined {
  const limit = vocabSize ?? MAX_TOKEN_ID;
  for (let i = 0; i < ids.length; i += 1) {
    const id = ids[i];
    if (!Number.isInteger(id) || (id as number) < 0) return `${name}[${i}] = ${show(id)} is not a token id`;
    if ((id as number) >= limit) return `${name}[${i}] = ${show(id)} is outside the vocabulary (ids 0 to ${limit - 1})`;
  }
  return undefined;
}

function logProbProblem(raw: RawReply, ids: readonly number[]): string | undefined {
  if (!Array.isArray(raw.logProbs)) return `log-probabilities were asked for and did not come`;
  if (raw.logProbs.length !== ids.length)
    return `it has ${ids.length} output ids but ${raw.logProbs.length} log-probabilities`;
  for (let i = 0; i < ids.length; i += 1) {
    const value: unknown = raw.logProbs[i];
    if (typeof value !== 'number' || !Number.isFinite(value))
      return `log-probability ${i} is ${show(value)}, not a finite number`;
    if (value > 0) return `log-probability ${i} is ${value}, above 0`;
  }
  if (!Array.isArray(raw.logProbIds)) return undefined;
  const other = raw.logProbIds.findIndex((id, i) => id !== ids[i]);
  return other === -1
    ? undefined
    : `log-probability ${other} belongs to token ${show(raw.logProbIds[other])}, the output there is ${ids[other]}`;
}

function countProblem(raw: RawReply, request: GenerateRequest, options: CheckOptions): string | undefined {
  if (!isCount(raw.promptTokens)) return `its prompt token count is ${show(raw.promptTokens)}`;
  if (!isCount(raw.completionTokens)) return `its completion token count is ${show(raw.completionTokens)}`;
  if (raw.completionTokens > request.maxNewTokens)
    return `it has ${raw.completionTokens} new tokens, ${request.maxNewTokens} were allowed`;
  if (options.checkPromptTokens && raw.promptTokens !== request.promptIds.length)
    return `the server counted ${raw.promptTokens} prompt tokens, ${request.promptIds.length} were sent`;
  return undefined;
}

function finishProblem(finish: unknown): string | undefined {
  return FINISH_REASONS.includes(finish as FinishReason) ? undefined : `its finish reason is ${show(finish)}`;
}

/**
 * Checks a reply of a token-in token-out protocol: every count, id, log-probability and the finish reason.
 *
 * @returns the reply, or one sentence that says what is wrong with it
 */
export function checkTokenReply(
  raw: RawReply,
  request: GenerateRequest,
  options: CheckOptions
): GenerateReply | string {
  if (!Array.isArray(raw.outputIds)) return `it has no list of output ids`;
  const ids = raw.outputIds as number[];
  const problem =
    finishProblem(raw.finish) ??
    countProblem(raw, request, options) ??
    (raw.completionTokens === ids.length
      ? undefined
      : `it has ${ids.length} output ids but says ${show(raw.completionTokens)} completion tokens`) ??
    idProblem('output id', ids, options.vocabSize) ??
    (request.wantLogProbs ? logProbProblem(raw, ids) : undefined);
  if (problem !== undefined) return problem;
  return {
    outputIds: ids,
    text: typeof raw.text === 'string' ? raw.text : null,
    logProbs: request.wantLogProbs ? (raw.logProbs as number[]) : null,
    finish: raw.finish as FinishReason,
    weightsVersion: raw.weightsVersion,
    promptTokens: raw.promptTokens as number,
    completionTokens: raw.completionTokens as number,
  };
}

/**
 * Checks a reply of a text protocol: counts, finish reason, and that the text is not longer than its tokens can be.
 * Surrogates that stand alone become U+FFFD, as they would in the server's own UTF-8.
 */
export function checkTextReply(raw: RawReply, request: GenerateRequest): GenerateReply | string {
  const problem =
    finishProblem(raw.finish) ?? countProblem(raw, request, { vocabSize: undefined, checkPromptTokens: false });
  if (problem !== undefined) return problem;
  // Null: the whole reply was thinking or a tool call.
  const text = raw.text ?? '';
  if (typeof text !== 'string') return `its text is ${show(text)}`;
  const completionTokens = raw.completionTokens as number;
  if (text.length > (completionTokens + 1) * MAX_CHARACTERS_PER_TOKEN)
    return `its text of ${text.length} characters cannot be made of ${completionTokens} tokens`;
  return {
    outputIds: null,
    text: text.toWellFormed(),
    logProbs: null,
    finish: raw.finish as FinishReason,
    weightsVersion: raw.weightsVersion,
    promptTokens: raw.promptTokens as number,
    completionTokens,
  };
}

/**
 * Version of the weights behind a reply. A reply that several versions wrote has them all, joined with `+`, so that it equals
 * none of them.
 */
export function weightsVersionOf(single: unknown, spans: unknown): string | null {
  if (Array.isArray(spans)) {
    const versions = new Set(spans.filter(isRecord).map((span) => span['version']));
    const known = [...versions].filter((version) => typeof version === 'string');
    if (known.length > 0) return known.join('+');
  }
  return typeof single === 'string' ? single : null;
}
