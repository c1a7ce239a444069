import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInferenceClient } from '../../../shared/inference/client.js';
import type { GenerateRequest, InferenceClientOptions, InferenceProtocol } from '../../../shared/inference/types.js';
import { startServer, type StartedServer } from '../../fixtures/servers/start.js';

let server: StartedServer;
beforeAll(async () => {
  server = await startServer('fault-server.mjs');
});
afterAll(() => server.stop());

const REQUEST: GenerateRequest = {
  promptIds: [1, 2, 3, 4],
  messages: [{ role: 'user', content: 'What is 2+2?' }],
  maxNewTokens: 8,
  temperature: 1,
  topP: 1,
  stopTokenIds: [],
  wantLogProbs: true,
};

function open(protocol: InferenceProtocol, fault: string, options: Partial<InferenceClientOptions> = {}) {
  return createInferenceClient({
    protocol,
    endpoint: `${server.address}/${fault}~${protocol}`,
    model: 'm',
    vocabSize: 151936,
    maxBodyBytes: 1024 * 1024,
    timeoutMs: 20_000,
    retry: { attempts: 3, baseDelayMs: 1 },
    ...options,
  });
}

async function outcome(protocol: InferenceProtocol, fault: string, options: Partial<InferenceClientOptions> = {}) {
  const client = open(protocol, fault, options);
  try {
    return await client.generate({ ...REQUEST, wantLogProbs: protocol !== 'openai' });
  } finally {
    await client.close();
  }
}

/** Attack, error type, words of the message. */
const LIES: [string, string][] = [
  ['fewer-ids-than-counted', '3 output ids but says 4 completion tokens'],
  ['more-ids-than-counted', '3 output ids but says 2 completion tokens'],
  ['fewer-log-probs', '3 output ids but 2 log-probabilities'],
  ['more-log-probs', '3 output ids but 4 log-probabilities'],
  ['null-log-prob', 'log-probability 1 is null'],
  ['text-log-prob', 'log-probability 1 is "-1"'],
  ['nan-log-prob', 'contains NaN'],
  ['positive-log-prob', 'log-probability 1 is 0.5, above 0'],
  ['log-prob-of-another-token', 'belongs to token 99, the output there is 12'],
  ['id-out-of-vocabulary', 'output id[1] = 151936 is outside the vocabulary (ids 0 to 151935)'],
  ['negative-id', 'output id[1] = -1 is not a token id'],
  ['fractional-id', 'output id[1] = 1.5 is not a token id'],
  ['text-id', 'output id[1] = "12" is not a token id'],
  ['unknown-finish-reason', 'its finish reason is "because"'],
  ['no-finish-reason', 'its finish reason is null'],
  ['wrong-prompt-count', 'counted 1 prompt tokens, 4 were sent'],
  ['negative-count', 'its completion token count is -3'],
  ['longer-than-asked', 'it has 40 new tokens, 8 were allowed'],
  ['wrong-content-type', 'its content type is text/html'],
  ['no-content-type', 'its content type is missing'],
  ['not-json', 'it is not JSON or was cut off'],
  ['a-list', 'it is '],
  ['a-string', 'it is "hello"'],
  ['empty-object', 'it '],
  ['endless-body', 'its body is longer than 1048576 bytes'],
  ['huge-content-length', 'its body has 99999999999 bytes'],
  ['gzip-bomb', 'it is compressed (content-encoding gzip)'],
  ['redirect', 'redirect to http://192.0.2.1/elsewhere'],
  ['400', 'answered 400: {"error":{"message":"prompt too long"}}'],
  ['401', 'The server wants an API key'],
  ['endless-error', 'answered 400: no no'],
];

const UNAVAILABLE: [string, string][] = [
  ['slow-bytes', 'no complete answer within 400 ms (status 200'],
  ['silent', 'no complete answer within 400 ms'],
  ['always-cut', 'the answer broke off'],
  ['always-reset', 'no answer'],
  ['always-500', 'answered 500: {"error":"\\u{1b}[31mout of memory\\u{7}"}'],
  ['not-http', 'no answer'],
];

describe.each<InferenceProtocol>(['sglang', 'vllm'])('a hostile server behind %s', (protocol) => {
  it.each(LIES)('%s is a named error: %s', async (fault, words) => {
    await expect(outcome(protocol, fault)).rejects.toMatchObject({
      name: 'PipelineError',
      type: 'GenerationFailed',
      message: expect.stringContaining(words) as string,
    });
  });

  it.each(UNAVAILABLE)('%s is an unavailable engine after every attempt: %s', async (fault, words) => {
    const timeoutMs = /slow|silent/.test(fault) ? 400 : 20_000;
    const error = await outcome(protocol, fault, { timeoutMs }).catch((reason: unknown) => reason as Error);
    expect(error).toMatchObject({ name: 'PipelineError', type: 'EngineUnavailable' });
    expect((error as Error).message).toContain(words);
    expect((error as Error).message).toContain('(3 attempts)');
    expect((error as Error).message).toContain(`${server.address}/${fault}~${protocol}`);
  });

  it('accepts a right reply', async () => {
    await expect(outcome(protocol, 'ok')).resolves.toMatchObject({
      outputIds: [11, 12, 13],
      logProbs: [-0.25, -0.5, -0.75],
      finish: 'stop',
      promptTokens: 4,
      completionTokens: 3,
    });
  });

  it('does not need log-probs that were not asked for', async () => {
    const client = open(protocol, 'positive-log-prob');
    const reply = await client.generate({ ...REQUEST, wantLogProbs: false });
    await client.close();
    expect(reply.logProbs).toBeNull();
  });
});

describe('a hostile server behind chat completions', () => {
  it.each([
    ['text-of-10-mb', 'text of 10000000 characters cannot be made of 7 tokens'],
    ['unknown-finish-reason', 'its finish reason is "because"'],
    ['negative-count', 'its completion token count is -3'],
    ['wrong-content-type', 'its content type is text/html'],
    ['empty-object', 'it does not have exactly one choice with a message'],
    ['endless-body', 'its body is longer than'],
    ['gzip-bomb', 'compressed'],
    ['redirect', 'redirect'],
  ])('%s is a named error: %s', async (fault, words) => {
    await expect(outcome('openai', fault, { maxBodyBytes: 16 * 1024 * 1024 })).rejects.toMatchObject({
      type: 'GenerationFailed',
      message: expect.stringContaining(words) as string,
    });
  });

  it('keeps script, escape codes and line separators as data and mends lone surrogates', async () => {
    const reply = await outcome('openai', 'hostile-text');
    expect(reply.text).toBe('</script><img src=x onerror=alert(1)>\u001b[31m\u2028\ufffd\u0000end');
  });
});

it('a 10 MB text beside valid ids does not change the ids', async () => {
  const reply = await outcome('sglang', 'text-of-10-mb', { maxBodyBytes: 16 * 1024 * 1024 });
  expect(reply.outputIds).toEqual([11, 12, 13]);
});

it('a reply that two versions of the weights wrote names both', async () => {
  expect((await outcome('sglang', 'two-weight-versions')).weightsVersion).toBe('w7+w8');
});

it('a server that does not count its prompt is accepted only when told so', async () => {
  await expect(outcome('sglang', 'wrong-prompt-count', { checkPromptTokens: false })).resolves.toMatchObject({
    promptTokens: 1,
  });
});
