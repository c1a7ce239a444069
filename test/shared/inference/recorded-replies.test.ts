import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInferenceClient } from '../../../shared/inference/client.js';
import type { GenerateRequest, InferenceClientOptions, InferenceProtocol } from '../../../shared/inference/types.js';
import { startServer, type StartedServer } from '../../fixtures/servers/start.js';

const SHARED = process.env['MEMAGENT_SHARED'] ?? join(import.meta.dirname, '../../../../shared');

interface Recording {
  request: { body: Record<string, unknown> };
  response: { body: unknown };
}

function recording(folder: string, name: string): Recording {
  return JSON.parse(readFileSync(join(SHARED, 'protocol', folder, `${name}.json`), 'utf8')) as Recording;
}

const PROMPT = [151644, 872, 198, 3838, 374, 220, 17, 10, 17, 30, 151645, 198, 151644, 77091, 198];

function request(change: Partial<GenerateRequest>): GenerateRequest {
  return {
    promptIds: PROMPT,
    maxNewTokens: 4,
    temperature: 0,
    topP: 1,
    stopTokenIds: [],
    wantLogProbs: false,
    ...change,
  };
}

/** Starts a replay of one folder around a block of tests. */
function replay(folder: string, protocol: InferenceProtocol) {
  let server: StartedServer;
  beforeAll(async () => {
    server = await startServer('replay-server.mjs', [join(SHARED, 'protocol', folder)]);
  });
  afterAll(() => server.stop());
  const open = (name: string, options: Partial<InferenceClientOptions> = {}) =>
    createInferenceClient({ protocol, endpoint: `${server.address}/${name}`, retry: { attempts: 1 }, ...options });
  return {
    open,
    async generate(name: string, change: Partial<GenerateRequest>, options: Partial<InferenceClientOptions> = {}) {
      const client = open(name, options);
      try {
        return await client.generate(request(change));
      } finally {
        await client.close();
      }
    },
  };
}

const absent = !existsSync(join(SHARED, 'protocol'));
const reason = '(skipped when the conformance folder ../shared is absent)';

describe.skipIf(absent)(`SGLang 0.5.23 as recorded ${reason}`, () => {
  const server = replay('sglang-0.5.23-cpu', 'sglang');

  it('gives ids, log-probs, counts and the weights version', async () => {
    const name = '11-generate-input-ids-logprob';
    const reply = await server.generate(name, { wantLogProbs: true }, { vocabSize: 151936 });
    const recorded = recording('sglang-0.5.23-cpu', name).response.body as {
      meta_info: { output_token_logprobs: [number, number, null][] };
    };
    expect(reply).toEqual({
      outputIds: [105455, 105455, 105455, 105455],
      text: '节约节约节约节约',
      logProbs: recorded.meta_info.output_token_logprobs.map(([logProb]) => logProb),
      finish: 'length',
      weightsVersion: 'default',
      promptTokens: 15,
      completionTokens: 4,
    });
  });

  it('sends temperature, top-p, top-k and stop ids as the server knows them', async () => {
    const reply = await server.generate('16-generate-sampled', {
      temperature: 1,
      topP: 0.9,
      topK: 20,
      maxNewTokens: 3,
      stopTokenIds: [151645],
      wantLogProbs: true,
    });
    expect(reply.outputIds).toHaveLength(3);
    expect(reply.logProbs).toHaveLength(3);
  });

  it('keeps the stop token among the output ids', async () => {
    const reply = await server.generate('20-generate-stop-token', { stopTokenIds: [105455] });
    expect(reply).toMatchObject({ outputIds: [105455], finish: 'stop', completionTokens: 1, text: '' });
  });

  it('tells the weights version after an update', async () => {
    const reply = await server.generate('43-generate-after-weight-version', { maxNewTokens: 1 });
    expect(reply.weightsVersion).toBe('step-1');
  });

  it('refuses a request over the context with the server’s own words', async () => {
    const long = request({ promptIds: Array.from({ length: 5000 }, () => 100) });
    const client = server.open('46-err-generate-prompt-too-long', { retry: {} });
    await expect(client.generate(long)).rejects.toMatchObject({
      type: 'GenerationFailed',
      message: expect.stringContaining("longer than the model's context length (4096 tokens)") as string,
    });
    await client.close();
  });

  it('reads model, context length and weights version back', async () => {
    const client = server.open('any');
    await expect(client.facts()).resolves.toMatchObject({
      protocol: 'sglang',
      modelPath: './tiny-qwen3',
      contextLength: 4096,
      weightsVersion: 'default',
      engineVersion: null,
      seeding: 'none',
    });
    await client.close();
  });

  it('takes a batch apart in order', async () => {
    const body = recording('sglang-0.5.23-cpu', '19-generate-batch').request.body;
    const prompts = body['input_ids'] as number[][];
    const client = server.open('19-generate-batch', { coalesce: true });
    const replies = await Promise.all(
      prompts.map((promptIds) => client.generate(request({ promptIds, maxNewTokens: 1 })))
    );
    await client.close();
    expect(replies.map((reply) => [reply.outputIds, reply.promptTokens])).toEqual([
      [[32809], 4],
      [[128924], 6],
    ]);
  });
});

describe.skipIf(absent)(`vLLM 0.32.0 as recorded ${reason}`, () => {
  const server = replay('vllm-cpu-0.32.0', 'vllm');

  it('gives ids, log-probs and counts from the token-in token-out endpoint', async () => {
    const reply = await server.generate('37-generate-logprobs-0-seed', seeded(), { vocabSize: 151936 });
    const recorded = recording('vllm-cpu-0.32.0', '37-generate-logprobs-0-seed').response.body as {
      choices: [{ token_ids: number[]; logprobs: { content: { logprob: number }[] } }];
    };
    expect(reply.outputIds).toEqual(recorded.choices[0].token_ids);
    expect(reply.logProbs).toEqual(recorded.choices[0].logprobs.content.map((item) => item.logprob));
    expect(reply).toMatchObject({ weightsVersion: 'default', promptTokens: 15, text: null });
  });

  function seeded(): Partial<GenerateRequest> {
    const body = recording('vllm-cpu-0.32.0', '37-generate-logprobs-0-seed').request.body;
    const sampling = body['sampling_params'] as Record<string, number> & { stop_token_ids: number[] };
    return {
      temperature: sampling['temperature'] as number,
      topP: sampling['top_p'] as number,
      topK: sampling['top_k'] as number,
      maxNewTokens: sampling['max_tokens'] as number,
      seed: sampling['seed'] as number,
      stopTokenIds: sampling.stop_token_ids,
      wantLogProbs: true,
    };
  }

  it('keeps the stop token among the output ids', async () => {
    const reply = await server.generate('43-generate-stop-token', { maxNewTokens: 8, stopTokenIds: [105455] });
    expect(reply).toMatchObject({ outputIds: [105455], finish: 'stop' });
  });

  it('accepts a reply that the server cut at its context length', async () => {
    const reply = await server.generate('51-err-generate-prompt-plus-max-tokens-too-long', {
      promptIds: Array.from({ length: 4000 }, () => 100),
      maxNewTokens: 500,
    });
    expect(reply).toMatchObject({ finish: 'length', completionTokens: 96 });
  });

  it('falls back to completions with token ids where the endpoint is missing', async () => {
    // The recording has only the path /v1/completions; the token-in token-out path is a 404 there.
    const reply = await server.generate('32-completion-stop-token-ids', { stopTokenIds: [105455] });
    expect(reply).toMatchObject({ outputIds: [105455], finish: 'stop', promptTokens: 15 });
  });

  it.each([
    [
      '45-err-generate-prompt-too-long',
      { promptIds: Array.from({ length: 5000 }, () => 100) },
      'maximum model length of 4096',
    ],
    ['46-err-generate-token-id-out-of-vocab', { promptIds: [999999] }, 'Token id 999999 is out of vocabulary'],
  ])('passes on why a request was refused: %s', async (name, change, words) => {
    await expect(server.generate(name, change)).rejects.toMatchObject({
      type: 'GenerationFailed',
      message: expect.stringContaining(words) as string,
    });
  });

  it('does not take an unknown model for a missing endpoint', async () => {
    await expect(server.generate('48-err-generate-unknown-model', {}, { model: 'nope' })).rejects.toThrow(
      /The model `nope` does not exist/
    );
  });

  it('reads model, context length and engine version back', async () => {
    const client = server.open('any');
    await expect(client.facts()).resolves.toMatchObject({
      modelPath: './tiny-qwen3',
      contextLength: 4096,
      engineVersion: '0.32.0',
      seeding: 'seed',
    });
    await client.close();
  });
});

describe.skipIf(absent).each([
  ['llama-server-b10434', 4096],
  ['llama.cpp-xllamacpp-2026.10.11549', 2048],
])(`llama.cpp as recorded in %s ${reason}`, (folder, contextLength) => {
  const server = replay(folder, 'openai');

  function chat(name: string): Partial<GenerateRequest> {
    const body = recording(folder, name).request.body as {
      messages: GenerateRequest['messages'];
      max_tokens: number;
      temperature: number;
      seed?: number;
    };
    return {
      messages: body.messages ?? [],
      maxNewTokens: body.max_tokens,
      temperature: body.temperature,
      ...(body.seed === undefined ? {} : { seed: body.seed }),
    };
  }

  it.each(['09-chat', '15-chat-seed'])('gives the text and says that there are no token ids: %s', async (name) => {
    const recorded = recording(folder, name).response.body as {
      choices: [{ message: { content: string }; finish_reason: string }];
      usage: { prompt_tokens: number; completion_tokens: number };
    };
    await expect(server.generate(name, chat(name))).resolves.toEqual({
      outputIds: null,
      logProbs: null,
      text: recorded.choices[0].message.content,
      finish: recorded.choices[0].finish_reason,
      weightsVersion: null,
      promptTokens: recorded.usage.prompt_tokens,
      completionTokens: recorded.usage.completion_tokens,
    });
  });

  it('refuses to be asked for log-probs, which chat completions do not have for token ids', async () => {
    await expect(server.generate('09-chat', { ...chat('09-chat'), wantLogProbs: true })).rejects.toThrow(
      /no token ids.*Use protocol sglang or vllm/
    );
  });

  it('reads model, context length, vocabulary and sampling defaults back', async () => {
    const client = server.open('any');
    const facts = await client.facts();
    await client.close();
    expect(facts).toMatchObject({ contextLength, vocabSize: 49152 });
    expect(facts.modelPath).toMatch(/SmolLM2-135M-Instruct|smollm2/);
    expect(facts.samplingDefaults).toMatchObject({ top_k: 40 });
  });
});
