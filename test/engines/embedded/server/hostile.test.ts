import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Generated, PROMPTS, type Reply, type RunningEngine, startTestEngine } from '../support.js';

let engine: RunningEngine;

beforeAll(async () => {
  engine = await startTestEngine({ contextLength: 1024 });
});
afterAll(() => engine.stop());

const PROMPT = PROMPTS[0]!;

/** Long enough to be met while it runs, short enough to wait for. */
const LONG = { input_ids: PROMPT, sampling_params: { max_new_tokens: 900, ignore_eos: true } };

async function expectRefused(reply: Promise<Reply>, status: number, message: RegExp): Promise<void> {
  const { status: got, text } = await reply;
  expect(text).toMatch(message);
  expect(got).toBe(status);
}

async function running(): Promise<number> {
  return ((await engine.get('/server_info')).json as { num_running_reqs: number }).num_running_reqs;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (await condition()) return;
    await delay(10);
  }
  throw new Error('the condition did not come true');
}

/** A request that is surely in flight: generation is paused before it is sent. */
async function heldRequests(body: object, init?: RequestInit): Promise<Promise<Reply>[]> {
  await engine.post('/pause_generation', { mode: 'in_place' });
  const sent = engine.post('/generate', body, init);
  await until(async () => (await running()) === 1);
  return [sent];
}

async function release(): Promise<void> {
  await engine.post('/continue_generation', {});
}

/** Sends bytes over a bare connection and returns what came back until it closed. */
function raw(...pieces: (string | Buffer)[]): Promise<string> {
  const { hostname, port } = new URL(engine.endpoint);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const got: Buffer[] = [];
    socket.on('data', (piece) => got.push(piece));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(got).toString('latin1')));
    for (const piece of pieces) socket.write(piece);
    socket.end();
  });
}

describe('bad requests to the embedded engine', () => {
  it.each([
    ['an id outside the vocabulary', { input_ids: [1, 512] }, /holds 512, the vocabulary has the ids 0 to 511/],
    ['a negative id', { input_ids: [-1] }, /holds -1/],
    ['an id that is no integer', { input_ids: [1.5] }, /holds 1.5/],
    ['an id that is a text', { input_ids: ['7'] }, /holds \\"7\\"/],
    ['a prompt longer than the context', { input_ids: Array(1025).fill(1) }, /input \(1025 tokens\) is longer than/],
    ['a prompt without room for an answer', { input_ids: Array(1024).fill(1) }, /longer than the model's context/],
    [
      'a prompt and answer longer than the context',
      { input_ids: Array(1000).fill(1), sampling_params: { max_new_tokens: 25 } },
      /requested a total of 1025 tokens: 1000 tokens from the input messages and 25 tokens/,
    ],
    [
      'a temperature that is a text',
      { input_ids: [1], sampling_params: { temperature: 'NaN' } },
      /temperature must be/,
    ],
    ['a negative temperature', { input_ids: [1], sampling_params: { temperature: -0.5 } }, /got -0.5/],
    ['top_p 0', { input_ids: [1], sampling_params: { top_p: 0 } }, /top_p must be in \(0, 1\]/],
    ['top_k 0', { input_ids: [1], sampling_params: { top_k: 0 } }, /top_k must be -1/],
    ['negative max_new_tokens', { input_ids: [1], sampling_params: { max_new_tokens: -1 } }, /max_new_tokens must be/],
    ['a million samples', { input_ids: [1], sampling_params: { n: 1e6 } }, /n must be an integer/],
    [
      'stop strings, which it does not have',
      { input_ids: [1], sampling_params: { stop: ['a'] } },
      /stop .* is not offered/,
    ],
    [
      'a grammar, which it does not have',
      { input_ids: [1], sampling_params: { regex: 'a*' } },
      /regex .* is not offered/,
    ],
    ['a short key', { input_ids: [1], sampling_params: { custom_params: { memagent_key: [1, 2] } } }, /five integers/],
    [
      'a key beyond its words',
      { input_ids: [1], sampling_params: { custom_params: { memagent_key: [1, 2, 3, 65_536, 0] } } },
      /sample 65536 is not an integer from 0 to 65535/,
    ],
    ['a list for a body', [1, 2], /must be a JSON object/],
  ])('refuses %s and serves on', async (_, body, message) => {
    await expectRefused(engine.post('/generate', body), 400, message);
    expect((await engine.get('/health_generate')).status).toBe(200);
  });

  it('gives a bad item of a batch an error in its place, and the others their answers', async () => {
    const { json } = await engine.post('/generate', {
      input_ids: [PROMPT, [1, 9999], PROMPT],
      sampling_params: { max_new_tokens: 2 },
    });
    const [first, second, third] = json as [Generated, { error: { message: string } }, Generated];
    expect(first.output_ids.length).toBeGreaterThan(0);
    expect(second.error.message).toMatch(/holds 9999/);
    expect(third.output_ids.length).toBeGreaterThan(0);
  });

  it('refuses a text that is not JSON, NaN among it, and one that is said to be something else', async () => {
    await expectRefused(engine.post('/generate', '{"input_ids": [1,'), 400, /JSON decode error/);
    await expectRefused(engine.post('/generate', '{"input_ids": [NaN]}'), 400, /JSON decode error/);
    const asText = { headers: { 'content-type': 'text/plain' } };
    await expectRefused(engine.post('/generate', '{"input_ids": [1]}', asText), 400, /Unsupported Media Type/);
  });

  it('reads a body of 10 MB and refuses one of 40 MB, and serves on after both', async () => {
    const ids = (count: number): string => `{"input_ids": [${'1,'.repeat(count)}1]}`;
    await expectRefused(engine.post('/generate', ids(5_000_000)), 400, /longer than the model's context/);
    await expectRefused(
      engine
        .post('/generate', ids(20_000_000))
        .catch((error: unknown) => ({ status: 413, text: `longer than: ${String(error)}`, json: null })),
      413,
      /longer than/
    );
    expect((await engine.get('/health_generate')).status).toBe(200);
  });

  it('survives bytes that are no HTTP, and a request that stops in the middle of its body', async () => {
    expect(await raw(Buffer.from([0, 255, 13, 10, 13, 10]))).toMatch(/^HTTP\/1\.1 400/);
    await raw(
      'POST /generate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"input'
    );
    expect((await engine.get('/health_generate')).status).toBe(200);
  });

  it('answers unknown paths and methods as SGLang does', async () => {
    expect(await engine.post('/inference/v1/generate', {})).toMatchObject({
      status: 404,
      json: { detail: 'Not Found' },
    });
    expect(await engine.get('/v1/chat/completions')).toMatchObject({
      status: 405,
      json: { detail: 'Method Not Allowed' },
    });
    expect((await engine.get('/__proto__')).status).toBe(404);
  });

  it('refuses a request id that is already in flight', async () => {
    const [first] = await heldRequests({ ...LONG, rid: 'twice' });
    await expectRefused(
      engine.post('/generate', { ...LONG, rid: 'twice' }),
      400,
      /Duplicate request ID detected: twice/
    );
    await engine.post('/abort_request', { rid: 'twice' });
    expect(((await first!).json as Generated).meta_info.finish_reason.type).toBe('abort');
    await release();
    await expectRefused(
      engine.post('/generate', { input_ids: [[1], [2]], rid: ['a', 'a'] }),
      400,
      /Duplicate request ID/
    );
  });
});

describe('requests that end early', () => {
  it('makes room at once when a client goes away', async () => {
    const controller = new AbortController();
    const [gone] = await heldRequests(LONG, { signal: controller.signal });
    const outcome = gone!.catch(() => 'gone');
    controller.abort();
    expect(await outcome).toBe('gone');
    await until(async () => (await running()) === 0);
    await release();
  });

  it('aborts one request by its id and leaves the others alone', async () => {
    const aborted = (await heldRequests({ ...LONG, rid: 'abort-me' }))[0]!;
    const whole = engine.post('/generate', { ...LONG, rid: 'keep-me' });
    await until(async () => (await running()) === 2);
    expect((await engine.post('/abort_request', { rid: 'abort-me' })).status).toBe(200);
    await release();
    const { meta_info: meta, output_ids: ids } = (await aborted).json as Generated;
    expect(meta.finish_reason).toEqual({ type: 'abort', message: 'Aborted', status_code: null, err_type: null });
    expect(ids.length).toBeLessThan(900);
    expect(((await whole).json as Generated).output_ids).toHaveLength(900);
    expect((await engine.post('/abort_request', { rid: 'never-seen' })).status).toBe(200);
  });

  it('holds generation while paused, and goes on with the very same tokens', async () => {
    const params = { max_new_tokens: 900, ignore_eos: true, sampling_seed: 1, n: 16 };
    const body = { input_ids: PROMPT, sampling_params: params };
    const ids = ({ json }: Reply): number[][] => (json as Generated[]).map(({ output_ids: made }) => made);
    const calm = ids(await engine.post('/generate', body));
    const held = engine.post('/generate', body);
    await until(async () => (await running()) === 16);
    expect((await engine.post('/pause_generation', { mode: 'in_place' })).json).toEqual({
      message: 'Generation paused successfully.',
      status: 'ok',
    });
    expect((await engine.get('/health')).status).toBe(200);
    expect((await engine.get('/health_generate')).status).toBe(503);
    await delay(200);
    expect(await running()).toBe(16);
    await release();
    expect(ids(await held)).toEqual(calm);
  });

  it('ends what it holds when it is paused in mode abort, and takes requests again afterwards', async () => {
    const [ended] = await heldRequests(LONG);
    await engine.post('/pause_generation', {});
    expect(((await ended!).json as Generated).meta_info.finish_reason.type).toBe('abort');
    await release();
    expect((await engine.get('/health_generate')).status).toBe(200);
  });

  it('answers health checks while it computes', async () => {
    const busy = engine.post('/generate', { ...LONG, sampling_params: { ...LONG.sampling_params, n: 32 } });
    await until(async () => (await running()) > 0);
    expect((await engine.get('/health')).status).toBe(200);
    expect(await running()).toBeGreaterThan(0);
    await engine.post('/abort_request', { abort_all: true });
    await busy;
  });
});
