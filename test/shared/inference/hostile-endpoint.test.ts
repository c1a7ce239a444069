import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInferenceClient } from '../../../shared/inference/client.js';
import { packageRoot } from '../../../shared/runtime/entry.js';
import type { GenerateRequest, InferenceClientOptions, InferenceProtocol } from '../../../shared/inference/types.js';
import { CHAT_LIES, HOSTILE_OUTPUT, LIES, limitsOf, UNAVAILABLE, type Attack } from '../../fixtures/hostile-attacks.js';
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

describe.each<InferenceProtocol>(['sglang', 'vllm'])('a hostile server behind %s', (protocol) => {
  it.each(LIES)('$fault is a named error: $words', async ({ fault, type, words }) => {
    await expect(outcome(protocol, fault)).rejects.toMatchObject({
      name: 'PipelineError',
      type,
      message: expect.stringContaining(words) as string,
    });
  });

  it.each(UNAVAILABLE)('$fault is an unavailable engine after every attempt: $words', async (attack) => {
    const { fault, words } = attack;
    const error = await outcome(protocol, fault, limitsOf(protocol, attack)).catch(
      (reason: unknown) => reason as Error
    );
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
  it.each(CHAT_LIES)('$fault is a named error: $words', async (attack) => {
    await expect(outcome('openai', attack.fault, limitsOf('openai', attack))).rejects.toMatchObject({
      type: attack.type,
      message: expect.stringContaining(attack.words) as string,
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

describe('docs/hostile.md', () => {
  const path = join(packageRoot(), 'docs/hostile.md');

  /** What the client says, without what differs from run to run and from system to system. */
  async function message(protocol: InferenceProtocol, attack: Attack): Promise<string> {
    const error = await outcome(protocol, attack.fault, limitsOf(protocol, attack)).then(
      () => new Error('accepted'),
      (reason: unknown) => reason as Error
    );
    return (
      error.message
        .replaceAll(`${server.address}/${attack.fault}~${protocol}`, 'http://server')
        .replace(/no no[no ]*…* \(\d+ more characters\)/, 'no no … (cut)')
        .replace(/ \(status 200 and \d+ bytes had come\)/, '')
        // How the system and this version of Node put it.
        .replace(/(no answer|broke off|was cut off)(?::| \()(.*?)\)?(?= \(3 attempts\)|$)/, '$1')
        .slice(0, 240)
    );
  }

  async function table(protocol: InferenceProtocol, attacks: readonly Attack[]): Promise<string> {
    const rows: string[] = [];
    for (const attack of attacks) {
      const text = (await message(protocol, attack)).replaceAll('|', '\\|').replaceAll('\n', ' ');
      rows.push(`| ${attack.fault} | ${attack.what} | ${attack.type} | ${text} |`);
    }
    return ['| attack | the server … | outcome | message |', '| --- | --- | --- | --- |', ...rows].join('\n');
  }

  it('lists every attack of these tests with the very message it ends with (UPDATE_DOCS=1 writes it anew)', async () => {
    const text = [
      '# What a hostile inference server can do',
      'Made by `UPDATE_DOCS=1 npx vitest run test/shared/inference/hostile-endpoint.test.ts` from the tests’ own list: every row',
      'is a real request to a real server that lies. `GenerationFailed` is the error of that one sample; `EngineUnavailable`',
      'comes after the attempts of the client’s budget. Nothing hangs: every attempt has a time limit and a largest body.',
      '',
      '## Token ids (SGLang’s protocol; vLLM’s gives the same)',
      await table('sglang', LIES),
      '',
      '## A server that is not there',
      await table('sglang', UNAVAILABLE),
      '',
      '## Chat completions',
      await table('openai', CHAT_LIES),
      '',
      '## Texts that attack whoever reads them',
      '| text | outcome |',
      '| --- | --- |',
      ...HOSTILE_OUTPUT.map(([what, then]) => `| ${what} | ${then} |`),
      '',
    ].join('\n');
    if (process.env['UPDATE_DOCS'] === '1') await writeFile(path, text);
    expect(await readFile(path, 'utf8')).toBe(text);
  }, 60_000);
});
