import { request, type Dispatcher } from 'undici';
import { printable } from '../../../shared/inference/printable.js';
import type { RayConnection } from './connection.js';
import { CouldNotLook, RayRefused } from './errors.js';

export interface Outgoing {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: unknown;
}

/** A whole answer. */
export interface Answer {
  status: number;
  text: string;
}

/** Statuses of something in between (a gateway, a head that is starting) that say nothing about the request. */
const NOT_RAY = new Set([408, 425, 429, 502, 503, 504]);

/**
 * One request and its whole answer, within the connection's time and size limits.
 *
 * @throws CouldNotLook when there was no whole answer of Ray's; the signal's reason
 */
export async function exchange(connection: RayConnection, outgoing: Outgoing, signal?: AbortSignal): Promise<Answer> {
  const where = `${outgoing.method} ${connection.address}${outgoing.path}`;
  const limit = AbortSignal.timeout(connection.timeoutMs);
  const both = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  try {
    const reply = await request(connection.address + outgoing.path, {
      method: outgoing.method,
      dispatcher: connection.agent,
      signal: both,
      headers: {
        ...connection.headers,
        accept: 'application/json',
        ...(outgoing.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: outgoing.body === undefined ? null : JSON.stringify(outgoing.body),
    });
    const text = await readBody(reply.body, connection.maxBodyBytes);
    if (NOT_RAY.has(reply.statusCode))
      throw new CouldNotLook(where, `status ${reply.statusCode}: ${printable(text.trim(), 300)}`);
    return { status: reply.statusCode, text };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof CouldNotLook) throw error;
    const problem = limit.aborted ? `no whole answer within ${connection.timeoutMs} ms` : describe(error);
    throw new CouldNotLook(where, problem, { cause: error });
  }
}

/**
 * The same, for requests that Ray answers with JSON.
 *
 * @throws CouldNotLook, also when a good status came with something else than JSON; RayRefused for other statuses
 */
export async function exchangeJson(
  connection: RayConnection,
  outgoing: Outgoing,
  signal?: AbortSignal
): Promise<unknown> {
  const where = `${outgoing.method} ${connection.address}${outgoing.path}`;
  const answer = await exchange(connection, outgoing, signal);
  if (answer.status < 200 || answer.status >= 300) throw refusal(where, answer);
  return parseJson(where, answer.text);
}

/** @throws CouldNotLook when it is none */
export function parseJson(where: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new CouldNotLook(where, `the answer is not JSON or was cut off: ${printable(text, 120)}`, { cause: error });
  }
}

/** What Ray says of itself ends a Python traceback: that line is what a person needs. */
export function refusal(where: string, answer: Answer): RayRefused {
  const lines = answer.text.split('\n').filter((line) => line.trim() !== '');
  return new RayRefused(where, answer.status, printable(lines.at(-1) ?? 'no reason given', 600));
}

async function readBody(body: Dispatcher.ResponseData['body'], limit: number): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += (piece as Buffer).byteLength;
    if (bytes > limit) throw new Error(`the answer is longer than ${limit} bytes`);
    pieces.push(piece as Buffer);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** Node joins the failures of several addresses into an AggregateError with an empty message. */
function describe(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map((each: Error) => each.message).join('; ');
  return error instanceof Error ? error.message : String(error);
}
