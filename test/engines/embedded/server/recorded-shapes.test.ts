import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../../../shared/runtime/entry.js';
import { type RunningEngine, startTestEngine } from '../support.js';

const SHARED = process.env['MEMAGENT_SHARED'] ?? join(packageRoot(), '../shared');
const RECORDED = join(SHARED, 'protocol/sglang-0.5.23-cpu');

/** Recorded calls whose replies ours are compared with: what the system uses of SGLang, and every error that can be told alike. */
const WANTED =
  /^\d\d-(models|generate-(input-ids|input-ids-logprob|logprob-start-len-0|top-logprobs|rid|sampled|sampling-seed|n2|batch|return-prompt-token-ids)|chat|chat-(logprobs|return-token-ids|n2|template-kwargs)|pause_generation|continue_generation|abort_request|abort_request-unknown-rid|err-generate-(prompt-too-long|prompt-plus-max|empty-input-ids|no-input|bad-sampling-key|bad-sampling-value|unknown-field)|err-chat-(max-tokens-too-long|unknown-model|not-json-content-type)|err-404|err-405)\.json$/;

/** Present in the original only: a time stamp of its own and facts of features that are not here. */
const ORIGINAL_ONLY = new Set(['response_sent_to_client_ts']);

interface Recorded {
  request: { method: string; path: string; headers: Record<string, string>; body?: unknown; body_text?: string };
  response: { status: number; body?: unknown };
}

const files = existsSync(RECORDED) ? readdirSync(RECORDED).filter((name) => WANTED.test(name)) : [];

/** Lists that the recording shortened are made whole again; ids are brought into our vocabulary. */
function revive(value: unknown): unknown {
  if (Array.isArray(value))
    return value.every(Number.isInteger) ? value.map((id: number) => id % 512) : value.map(revive);
  if (typeof value !== 'object' || value === null) return value;
  const marked = value as { __list_shortened__?: boolean; length?: number };
  // The recorded server had four times our context.
  if (marked.__list_shortened__ === true) return Array((marked.length as number) / 4).fill(100);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, revive(member)]));
}

/** The value with every number as 0 and every text of one kind as '': what must be alike. Log-probs may be null in both. */
function shape(value: unknown, path = ''): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map((item) => shape(item, path));
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([name]) => !ORIGINAL_ONLY.has(name));
    return Object.fromEntries(members.map(([name, member]) => [name, shape(member, `${path}/${name}`)]).sort());
  }
  // Which token ended a reply, and whether there is a cache, is not a matter of shape.
  if (/matched|cached_tokens_details/.test(path)) return null;
  return typeof value === 'number' ? 0 : typeof value === 'string' ? '' : value;
}

/** A finish reason has its own members for each type; the cache's details are null or counts. */
function normal(value: unknown): unknown {
  const text = JSON.stringify(value, (name, member: unknown) => {
    if (name === 'finish_reason' && typeof member === 'object' && member !== null) return 'some reason';
    if (name === 'finish_reason' && typeof member === 'string') return 'some reason';
    return name === 'cached_tokens_details' ? null : member;
  });
  return JSON.parse(text) as unknown;
}

function messageOf(body: unknown): string | undefined {
  const { error, message } = body as { error?: string | { message: string }; message?: string };
  const text = typeof error === 'string' ? error : (error?.message ?? message);
  return text?.replaceAll(/\d+/g, 'N');
}

describe.skipIf(files.length === 0)('replies in SGLang’s recorded shapes (skipped where ../shared is absent)', () => {
  let engine: RunningEngine;
  beforeAll(async () => {
    engine = await startTestEngine({ contextLength: 1024 });
  });
  afterAll(() => engine.stop());

  it.each(files)('%s', async (name) => {
    const { request, response } = JSON.parse(readFileSync(join(RECORDED, name), 'utf8')) as Recorded;
    const { method, path, headers } = request;
    const body = request.body_text ?? (request.body === undefined ? undefined : revive(request.body));
    const reply = method === 'GET' ? await engine.get(path) : await engine.post(path, body ?? {}, { headers });
    expect(reply.status, reply.text).toBe(response.status);
    if (response.body === undefined) return expect(reply.text).toBe('');
    expect(shape(normal(reply.json))).toEqual(shape(normal(response.body)));
    if (response.status >= 400) expect(messageOf(reply.json)).toBe(messageOf(response.body));
  });
});
