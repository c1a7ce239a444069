import type { CheckOptions } from './reply-checks.js';
import type { GenerateReply, GenerateRequest, ServerFacts } from './types.js';

/** Sends one JSON request, one attempt. Throws RequestFailure. */
export type Post = (path: string, body: unknown) => Promise<unknown>;

/** Reads one JSON document, with retries; null when the server does not have that path. */
export type Get = (path: string) => Promise<unknown>;

export interface ProtocolContext {
  /** Address for messages. */
  where(method: string, path: string): string;
  checks: CheckOptions;
  /** Model name to send; undefined = ask the server once. */
  model: string | undefined;
}

/** How one kind of server is spoken to. */
export interface Protocol {
  /** One attempt of one request. Throws RequestFailure. */
  generate(request: GenerateRequest, post: Post, get: Get): Promise<GenerateReply>;
  facts(get: Get): Promise<Omit<ServerFacts, 'protocol' | 'endpoint'>>;
}

/** Longest text that is taken for a name or a version; what is longer is not stored in every result. */
const LONGEST_FACT = 4096;

export function stringOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_FACT ? value.toWellFormed() : null;
}

export function countOrNull(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null;
}
