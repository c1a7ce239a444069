import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInferenceClient } from '../../../shared/inference/client.js';
import type { InferenceProtocol, ServerFacts } from '../../../shared/inference/types.js';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let answer: Answer = () => undefined;
beforeAll(async () => {
  server = createServer((request, response) => answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function json(value: unknown): Answer {
  const text = JSON.stringify(value);
  return (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(text);
}

async function facts(protocol: InferenceProtocol, lie: Answer, timeoutMs = 20_000): Promise<ServerFacts> {
  answer = lie;
  const client = createInferenceClient({
    protocol,
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    model: 'm',
    maxBodyBytes: 32 * 1024 * 1024,
    timeoutMs,
    retry: { attempts: 2, baseDelayMs: 1 },
  });
  try {
    return await client.facts();
  } finally {
    await client.close();
  }
}

const LONG = 'x'.repeat(1_000_000);
const PROTOCOLS: InferenceProtocol[] = ['sglang', 'vllm', 'openai'];

describe.each(PROTOCOLS)('what a server says of itself to %s', (protocol) => {
  it.each<[string, unknown]>([
    [
      'numbers for names',
      { model_path: 7, version: 8, weight_version: 9, data: [{ id: 1, root: 2, max_model_len: 'many' }] },
    ],
    [
      'negative and fractional lengths',
      { context_length: -1, vocab_size: 1.5, data: [{ id: 'm', max_model_len: -4096, meta: { n_ctx: 0.5 } }] },
    ],
    ['lists for objects', [[], [[]]]],
    ['null everywhere', { data: null, model_path: null, preferred_sampling_params: null }],
    [
      'texts of a megabyte',
      { model_path: LONG, version: LONG, weight_version: LONG, data: [{ id: LONG, root: LONG, aliases: [LONG] }] },
    ],
  ])('%s: is taken as not said', async (_name, lie) => {
    const found = await facts(protocol, json(lie));
    expect(found).toMatchObject({ contextLength: null, vocabSize: null, weightsVersion: null, engineVersion: null });
    expect([null, 'm']).toContain(found.modelPath);
    expect(JSON.stringify(found).length).toBeLessThan(1_000);
  });

  it('thousands of models and settings are kept short', async () => {
    const data = Array.from({ length: 5_000 }, (_, i) => ({ id: `model-${i}` }));
    const many = Object.fromEntries(data.map(({ id }, i) => [id, i % 2 === 0 ? i : LONG.slice(0, 1000)]));
    const lie = { data, preferred_sampling_params: many, default_generation_settings: { params: many } };
    const found = await facts(protocol, json(lie));
    expect(found.servedNames.length).toBeLessThanOrEqual(1_000);
    expect(Object.keys(found.samplingDefaults ?? {}).length).toBeLessThanOrEqual(100);
    expect(JSON.stringify(found).length).toBeLessThan(50_000);
  });

  it('a lone surrogate in a name is mended, script and escapes stay data', async () => {
    const name = '</script><img onerror=x>\u001b[31m\u2028\ud800\u0000';
    const found = await facts(protocol, json({ model_path: name, data: [{ id: name, root: name }] }));
    expect(found.servedNames[0]).toBe(name.toWellFormed());
  });

  it.each<[string, Answer]>([
    ['a page', (_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
    [
      'a redirect elsewhere',
      (_request, response) => void response.writeHead(302, { location: 'http://192.0.2.1/' }).end(),
    ],
    [
      'a gzip bomb',
      (_request, response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
          .end(gzipSync(Buffer.alloc(10_000_000, 0x20))),
    ],
  ])('%s in place of facts is nothing said, and not followed', async (_name, lie) => {
    expect(await facts(protocol, lie)).toMatchObject({ contextLength: null, engineVersion: null });
  });

  it('silence is an unavailable engine within the time limit', async () => {
    await expect(facts(protocol, () => undefined, 150)).rejects.toMatchObject({
      type: 'EngineUnavailable',
      message: expect.stringContaining('no complete answer within 150 ms (2 attempts)') as string,
    });
  });
});

describe('the name for requests', () => {
  it('is found by the model’s path, and the served names are told', async () => {
    const data = [
      { id: 'adapter', root: '/adapters/a' },
      { id: 'qwen3', root: '/models/qwen3/' },
    ];
    answer = json({ data });
    const client = createInferenceClient({
      protocol: 'vllm',
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      model: '/models/qwen3',
    });
    expect(await client.facts()).toMatchObject({ modelPath: '/models/qwen3/', servedNames: ['qwen3', 'adapter'] });
    await client.close();
  });
});
