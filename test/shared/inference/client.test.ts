import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInferenceClient } from '../../../shared/inference/client.js';
import type { GenerateRequest, InferenceClientOptions, InferenceProtocol } from '../../../shared/inference/types.js';
import { startServer, type StartedServer } from '../../fixtures/servers/start.js';

interface Logged {
  fault: string;
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
  at: number;
}

let server: StartedServer;
beforeAll(async () => {
  server = await startServer('fault-server.mjs');
});
afterAll(() => server.stop());

async function seen(fault: string): Promise<Logged[]> {
  const reply = (await (await fetch(`${server.address}/log`)).json()) as { log: Logged[] };
  return reply.log.filter((entry) => entry.fault === fault);
}

function request(change: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    promptIds: [1, 2],
    maxNewTokens: 8,
    temperature: 1,
    topP: 1,
    stopTokenIds: [5],
    wantLogProbs: true,
    ...change,
  };
}

function open(fault: string, options: Partial<InferenceClientOptions> = {}, protocol: InferenceProtocol = 'sglang') {
  return createInferenceClient({
    protocol,
    endpoint: `${server.address}/${fault}`,
    model: 'm',
    timeoutMs: 5000,
    retry: { attempts: 4, baseDelayMs: 1 },
    ...options,
  });
}

describe('retries', () => {
  it.each([
    ['cut-body', 2],
    ['cut-body-without-length', 2],
    ['reset-then-ok', 2],
    ['503-then-ok', 3],
  ])('%s: sent again until it is answered', async (fault, times) => {
    const client = open(fault);
    await expect(client.generate(request())).resolves.toMatchObject({ outputIds: [11, 12, 13] });
    await client.close();
    expect(await seen(fault)).toHaveLength(times);
  });

  it('waits at least as long as Retry-After says', async () => {
    const client = open('429-with-retry-after');
    await expect(client.generate(request())).resolves.toMatchObject({ finish: 'stop' });
    await client.close();
    const [first, second] = await seen('429-with-retry-after');
    expect((second as Logged).at - (first as Logged).at).toBeGreaterThanOrEqual(1000);
  });

  it.each(['400~once', '401~once', 'redirect~once', 'positive-log-prob~once'])(
    '%s: an answer that would be the same again is not asked for again',
    async (fault) => {
      const client = open(fault);
      await expect(client.generate(request())).rejects.toMatchObject({ type: 'GenerationFailed' });
      await client.close();
      expect(await seen(fault)).toHaveLength(1);
    }
  );

  it('gives up on a port where nothing listens, for more requests than connections', async () => {
    const gone = await startServer('fault-server.mjs');
    await gone.stop();
    const client = createInferenceClient({
      protocol: 'sglang',
      endpoint: gone.address,
      concurrency: 2,
      retry: { attempts: 2, baseDelayMs: 1 },
    });
    const outcomes = await Promise.allSettled(Array.from({ length: 9 }, () => client.generate(request())));
    await client.close();
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { type: 'EngineUnavailable', message: expect.stringContaining('ECONNREFUSED') as string },
      });
    }
  });
});

describe('what is sent', () => {
  it('to SGLang: token ids, the sampling key as custom_params.memagent_key, and a seed made from it', async () => {
    const client = open('ok~key');
    await client.generate(request({ samplingKey: [42, 3, 2, 1, 0], temperature: 0.7, topP: 0.95 }));
    await client.generate(request({ samplingKey: [42, 3, 2, 1, 1] }));
    await client.close();
    const [first, second] = (await seen('ok~key')).map((entry) => entry.body);
    expect(first).toEqual({
      input_ids: [1, 2],
      sampling_params: {
        max_new_tokens: 8,
        temperature: 0.7,
        top_p: 0.95,
        top_k: -1,
        stop_token_ids: [5],
        sampling_seed: expect.any(Number) as number,
        custom_params: { memagent_key: [42, 3, 2, 1, 0] },
      },
      return_logprob: true,
    });
    const seeds = [first, second].map(
      (body) => (body?.['sampling_params'] as Record<string, number>)['sampling_seed'] as number
    );
    expect(new Set(seeds).size).toBe(2);
    for (const seed of seeds) expect(seed >= 0 && seed < 2 ** 31).toBe(true);
  });

  it('an API key as a bearer token, and never a wish for compression', async () => {
    const client = open('ok~bearer', { apiKey: 'k-1' });
    await client.generate(request());
    await client.close();
    const [entry] = await seen('ok~bearer');
    expect(entry?.headers).toMatchObject({ authorization: 'Bearer k-1', 'content-type': 'application/json' });
    expect(entry?.headers['accept-encoding']).toBeUndefined();
  });

  it('to chat completions: messages, the thinking switch only where set, the model the server lists', async () => {
    const client = createInferenceClient({ protocol: 'openai', endpoint: `${server.address}/ok~chat/v1/` });
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    await client.generate(request({ messages, wantLogProbs: false, seed: 7, enableThinking: false }));
    await client.close();
    const [entry] = (await seen('ok~chat')).filter((each) => each.path === '/v1/chat/completions');
    expect(entry?.body).toEqual({
      model: 'the-model',
      messages,
      max_tokens: 8,
      temperature: 1,
      top_p: 1,
      seed: 7,
      chat_template_kwargs: { enable_thinking: false },
    });
  });

  it.each(['vllm', 'openai'] as const)(
    '%s asks for the model’s name once, however many requests need it',
    async (protocol) => {
      const fault = `ok~name-${protocol}`;
      const client = createInferenceClient({ protocol, endpoint: `${server.address}/${fault}` });
      const messages = [{ role: 'user' as const, content: 'Hi' }];
      await Promise.all([1, 2, 3].map(() => client.generate(request({ messages, wantLogProbs: false }))));
      await client.close();
      const paths = (await seen(fault)).map((entry) => entry.path);
      expect(paths.filter((path) => path === '/v1/models')).toHaveLength(1);
      expect(paths).toHaveLength(4);
    }
  );

  it('no id outside the vocabulary: a real SGLang would end at it', async () => {
    const client = open('ok~never', { vocabSize: 100 });
    await expect(client.generate(request({ promptIds: [1, 100] }))).rejects.toThrow(
      /request not sent: prompt id\[1\] = 100 is outside the vocabulary/
    );
    await expect(client.generate(request({ promptIds: [] }))).rejects.toThrow(/the prompt has no token/);
    await expect(client.generate(request({ maxNewTokens: 0 }))).rejects.toThrow(/maxNewTokens/);
    await client.close();
    expect(await seen('ok~never')).toEqual([]);
  });
});

describe('vLLM without its token-in token-out endpoint', () => {
  it('is asked through completions, and the missing path only once', async () => {
    const client = open('no-generate-path', {}, 'vllm');
    for (let i = 0; i < 3; i += 1)
      await expect(client.generate(request())).resolves.toMatchObject({ outputIds: [11, 12, 13] });
    await client.close();
    expect((await seen('no-generate-path')).map((entry) => entry.path)).toEqual([
      '/inference/v1/generate',
      '/v1/completions',
      '/v1/completions',
      '/v1/completions',
    ]);
  });

  it('is told apart from a model that does not exist', async () => {
    const client = open('unknown-model', {}, 'vllm');
    await expect(client.generate(request())).rejects.toThrow(/The model `m` does not exist/);
    await client.close();
    expect(await seen('unknown-model')).toHaveLength(1);
  });
});

describe('concurrency, cancelling and closing', () => {
  it('never has more requests open than allowed', async () => {
    const own = await startServer('fault-server.mjs');
    const client = createInferenceClient({ protocol: 'sglang', endpoint: `${own.address}/slow`, concurrency: 3 });
    await Promise.all(Array.from({ length: 12 }, () => client.generate(request())));
    await client.close();
    const reply = (await (await fetch(`${own.address}/log`)).json()) as { log: unknown[]; mostOpen: number };
    await own.stop();
    expect(reply.log).toHaveLength(12);
    expect(reply.mostOpen).toBe(3);
  });

  it.each(['silent~abort', 'slow-bytes~abort', '503-then-ok~abort'])(
    '%s: a signal ends a request at once, wherever it stands',
    async (fault) => {
      const client = open(fault, { timeoutMs: 60_000, concurrency: 1, retry: { baseDelayMs: 60_000 } });
      const controller = new AbortController();
      const reason = new Error('enough');
      // The second waits for a place behind the first.
      const running = [1, 2].map(() => client.generate(request(), { signal: controller.signal }));
      setTimeout(() => controller.abort(reason), 50);
      const outcomes = await Promise.allSettled(running);
      await client.close();
      expect(outcomes).toEqual([1, 2].map(() => ({ status: 'rejected', reason })));
    }
  );

  it('a signal that was aborted before sends nothing', async () => {
    const client = open('ok~aborted');
    await expect(client.generate(request(), { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no');
    await client.close();
    expect(await seen('ok~aborted')).toEqual([]);
  });

  it('one signal serves any number of requests without a warning', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): number => warnings.push(warning);
    process.on('warning', note);
    const client = open('slow~many', { concurrency: 32 });
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 64 }, () => client.generate(request(), { signal })));
    await client.close();
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  it('closing ends what is running', async () => {
    const client = open('silent~close', { timeoutMs: 60_000 });
    const running = client.generate(request());
    setTimeout(() => void client.close(), 30);
    await expect(running).rejects.toThrow('the inference client was closed');
    await expect(client.generate(request())).rejects.toThrow('the inference client was closed');
  });
});

describe('requests of one tick sent as one batch', () => {
  const prompts = [[1], [2, 3], [666, 1], [4]];

  it('are one HTTP request, and each gets its own reply', async () => {
    const client = open('ok~batch', { coalesce: true });
    const replies = await Promise.all(
      [[1], [2, 3], [4, 5, 6]].map((promptIds) => client.generate(request({ promptIds })))
    );
    await client.close();
    expect(replies.map((reply) => reply.promptTokens)).toEqual([1, 2, 3]);
    const log = await seen('ok~batch');
    expect(log).toHaveLength(1);
    expect(log[0]?.body['input_ids']).toEqual([[1], [2, 3], [4, 5, 6]]);
  });

  it('are no larger than the limit', async () => {
    const client = open('ok~limit', { coalesce: true, maxBatch: 4 });
    await Promise.all(Array.from({ length: 10 }, () => client.generate(request())));
    await client.close();
    const sizes = (await seen('ok~limit')).map((entry) => entry.body['input_ids'] as unknown[]);
    expect(sizes.map((ids) => ids.length)).toEqual([4, 4, 2]);
  });

  it.each([
    ['refuses-666', 'bad prompt'],
    ['lies-to-666', 'says 5 completion tokens'],
  ])('%s: a bad one fails alone', async (fault, words) => {
    const client = open(fault, { coalesce: true });
    const outcomes = await Promise.allSettled(prompts.map((promptIds) => client.generate(request({ promptIds }))));
    await client.close();
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect((outcomes[2] as PromiseRejectedResult).reason).toMatchObject({
      type: 'GenerationFailed',
      message: expect.stringContaining(words) as string,
    });
  });

  it('an error in place of one reply is that request’s error', async () => {
    const client = open('lies-to-666~error', { coalesce: true });
    const outcomes = await Promise.allSettled([[667], [1]].map((promptIds) => client.generate(request({ promptIds }))));
    await client.close();
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'fulfilled']);
    expect(String((outcomes[0] as PromiseRejectedResult).reason)).toContain('item failed');
  });

  it('are retried one by one when the whole batch could not be served', async () => {
    const client = open('503-then-ok~batch', { coalesce: true });
    const replies = await Promise.all([[1], [2, 3]].map((promptIds) => client.generate(request({ promptIds }))));
    await client.close();
    expect(replies.map((reply) => reply.promptTokens)).toEqual([1, 2]);
  });

  it('a reply with fewer items than the batch is refused', async () => {
    const client = open('short-batch', { coalesce: true });
    const outcomes = await Promise.allSettled([[1], [2]].map((promptIds) => client.generate(request({ promptIds }))));
    await client.close();
    for (const outcome of outcomes)
      expect(String((outcome as PromiseRejectedResult).reason)).toContain(
        'batch of 2 requests was answered with 1 replies'
      );
  });

  it('an aborted one leaves the others alone', async () => {
    const client = open('slow~batch', { coalesce: true });
    const controller = new AbortController();
    const running = [
      client.generate(request(), { signal: controller.signal }),
      client.generate(request({ promptIds: [1, 2, 3] })),
    ];
    setTimeout(() => controller.abort(new Error('only me')), 5);
    const outcomes = await Promise.allSettled(running);
    await client.close();
    expect(outcomes).toMatchObject([
      { status: 'rejected', reason: { message: 'only me' } },
      { status: 'fulfilled', value: { promptTokens: 3 } },
    ]);
  });
});

it('a batch that nobody waits for any more is taken back from the server', async () => {
  const own = await startServer('fault-server.mjs');
  const client = createInferenceClient({ protocol: 'sglang', endpoint: `${own.address}/slow-bytes`, coalesce: true });
  const openRequests = async (): Promise<number> =>
    ((await (await fetch(`${own.address}/log`)).json()) as { open: number }).open;
  const controller = new AbortController();
  const running = [1, 2].map(() => client.generate(request(), { signal: controller.signal }));
  await expect.poll(openRequests).toBe(1);
  controller.abort(new Error('enough'));
  await Promise.allSettled(running);
  await expect.poll(openRequests).toBe(0);
  await client.close();
  await own.stop();
});

it('an endpoint that is no address is refused with how to write it', () => {
  expect(() => createInferenceClient({ protocol: 'sglang', endpoint: 'localhost:30000' })).toThrow(
    /Write it as http:\/\/HOST:PORT/
  );
});
