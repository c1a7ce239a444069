import { afterAll, expect, it } from 'vitest';
import { createInferenceClient } from '../../../../shared/inference/client.js';
import type { GenerateRequest, InferenceClient } from '../../../../shared/inference/types.js';
import { type Generated, post, type Reply } from '../support.js';

/** A server that speaks SGLang's protocol, and what the suite may ask of it. */
export interface SuiteServer {
  endpoint: () => string;
  /** A prompt that fits many times into the context. */
  prompt: readonly number[];
}

/** Reply with the members that only some requests have. */
type Full = Generated & { meta_info: { input_top_logprobs?: ([number, number, null][] | null)[] } };

/** What the system needs of a server of SGLang's protocol; the same for the embedded engine and for the real one. */
export function sglangSuite({ endpoint, prompt }: SuiteServer): void {
  const clients: InferenceClient[] = [];
  afterAll(() => Promise.all(clients.map((client) => client.close())));

  const clientOf = (coalesce: boolean): InferenceClient => {
    const retry = { attempts: 2, baseDelayMs: 1 };
    const client = createInferenceClient({ protocol: 'sglang', endpoint: endpoint(), coalesce, retry });
    clients.push(client);
    return client;
  };
  const call = (path: string, body: unknown): Promise<Reply> => post(endpoint() + path, body);
  const get = async (path: string): Promise<Reply> => {
    const response = await fetch(endpoint() + path);
    const text = await response.text();
    return { status: response.status, text, json: text.startsWith('{') ? JSON.parse(text) : undefined };
  };
  const generate = async (sampling: object, more: object = {}): Promise<Full> => {
    const { status, json, text } = await call('/generate', {
      input_ids: prompt,
      sampling_params: { temperature: 0, max_new_tokens: 6, ignore_eos: true, ...sampling },
      return_logprob: true,
      ...more,
    });
    expect(status, text).toBe(200);
    return json as Full;
  };

  it('is healthy, also when it is made to generate, and says what it serves', async () => {
    expect((await get('/health')).status).toBe(200);
    expect((await get('/health_generate')).status).toBe(200);
    const [info, older, models] = await Promise.all(['/model_info', '/get_model_info', '/v1/models'].map(get));
    expect(info!.json).toMatchObject({ is_generation: true, model_path: expect.any(String) as string });
    expect(older!.json).toMatchObject({ model_path: (info!.json as { model_path: string }).model_path });
    expect(models!.json).toMatchObject({ object: 'list', data: [{ object: 'model' }] });
    expect(await clientOf(false).facts()).toMatchObject({ contextLength: expect.any(Number) as number });
  });

  it('decodes greedily the same ids alone, in a batch and again', async () => {
    const alone = await generate({});
    expect(alone.output_ids).toHaveLength(6);
    expect(alone.meta_info).toMatchObject({
      finish_reason: { type: 'length', length: 6 },
      prompt_tokens: prompt.length,
      completion_tokens: 6,
    });
    const { json } = await call('/generate', {
      input_ids: [prompt, prompt.slice(0, -1), prompt],
      sampling_params: { temperature: 0, max_new_tokens: 6, ignore_eos: true },
    });
    const batch = json as Full[];
    expect(batch.map(({ meta_info: meta }) => meta.prompt_tokens)).toEqual([
      prompt.length,
      prompt.length - 1,
      prompt.length,
    ]);
    for (const one of [batch[0]!, batch[2]!, await generate({})]) expect(one.output_ids).toEqual(alone.output_ids);
  });

  it('makes n samples of a prompt', async () => {
    const many = (await generate({ n: 3, temperature: 1 })) as unknown as Full[];
    expect(many.map(({ output_ids: ids }) => ids.length)).toEqual([6, 6, 6]);
  });

  it('ends at a stop id, and not there when told to ignore the end', async () => {
    const { output_ids: free } = await generate({});
    const stop = free[3]!;
    const stopped = await generate({ ignore_eos: false, stop_token_ids: [stop] });
    expect(stopped.output_ids).toEqual(free.slice(0, free.indexOf(stop) + 1));
    expect(stopped.meta_info.finish_reason).toEqual({ type: 'stop', matched: stop });
    expect((await generate({ stop_token_ids: [stop] })).output_ids).toEqual(free);
  });

  it('tells log-probs of every output token, its alternatives, and of the prompt from where it is asked', async () => {
    const { meta_info: meta, output_ids: ids } = await generate({}, { logprob_start_len: 0, top_logprobs_num: 3 });
    expect(meta.output_token_logprobs.map(([, id]) => id)).toEqual(ids);
    expect(meta.output_top_logprobs.map((top) => top.length)).toEqual(ids.map(() => 3));
    meta.output_top_logprobs.forEach((top, i) =>
      expect(top[0]!.slice(0, 2)).toEqual(meta.output_token_logprobs[i]!.slice(0, 2))
    );
    expect(meta.input_token_logprobs.map(([, id]) => id)).toEqual(prompt);
    expect(meta.input_token_logprobs[0]![0]).toBeNull();
    expect(meta.input_top_logprobs!.map((top) => top?.length ?? null)).toEqual(
      prompt.map((_, i) => (i === 0 ? null : 3))
    );
    const later = await generate({}, { logprob_start_len: 4 });
    expect(later.meta_info.input_token_logprobs.map(([, id]) => id)).toEqual(prompt.slice(4));
  });

  it('scores a prompt without making a token', async () => {
    const scored = await generate({ max_new_tokens: 0 }, { logprob_start_len: 0 });
    expect(scored.output_ids).toEqual([]);
    expect(scored.meta_info.completion_tokens).toBe(0);
    expect(scored.meta_info.input_token_logprobs).toHaveLength(prompt.length);
  });

  it('streams what it would send at once', async () => {
    const whole = await generate({});
    const { text } = await call('/generate', {
      input_ids: prompt,
      sampling_params: { temperature: 0, max_new_tokens: 6, ignore_eos: true },
      stream: true,
    });
    const events = text.trim().split('\n\n');
    expect(events.pop()).toBe('data: [DONE]');
    const last = JSON.parse(events.at(-1)!.slice('data: '.length)) as Full;
    expect(last.output_ids).toEqual(whole.output_ids);
    expect(last.meta_info.finish_reason).toMatchObject({ type: 'length' });
  });

  it.each([
    ['a prompt beyond the context', { input_ids: Array<number>(50_000).fill(1) }],
    ['more new tokens than the context has', { input_ids: [1], sampling_params: { max_new_tokens: 1_000_000 } }],
    ['an empty prompt', { input_ids: [] }],
    ['no prompt', {}],
    ['a negative temperature', { input_ids: [1], sampling_params: { temperature: -1 } }],
    ['a top-p of 0', { input_ids: [1], sampling_params: { top_p: 0 } }],
    ['a parameter that there is not', { input_ids: [1], sampling_params: { warmth: 1 } }],
    ['NaN, which is no JSON', '{"input_ids": [1], "sampling_params": {"temperature": NaN}}'],
  ])('refuses %s with status 400 and serves on', async (_, body) => {
    const { status, text } = await call('/generate', body);
    expect(status, text).toBe(400);
    expect((await generate({})).output_ids).toHaveLength(6);
  });

  it('takes an abort of an id that is not there', async () => {
    expect((await call('/abort_request', { rid: 'nobody' })).status).toBe(200);
  });

  it('holds requests while it is paused, and goes on', async () => {
    const { output_ids: expected } = await generate({});
    expect((await call('/pause_generation', { mode: 'in_place' })).status).toBe(200);
    const held = generate({});
    expect((await call('/continue_generation', {})).status).toBe(200);
    expect((await held).output_ids).toEqual(expected);
  });

  it('loads weights from disk, and refuses a folder that is not there without losing the ones it has', async () => {
    // With and without a cached prefix a server may add in another order.
    expect((await call('/flush_cache', {})).status).toBe(200);
    const before = await generate({});
    const { model_path: path } = (await get('/model_info')).json as { model_path: string };
    const missing = await call('/update_weights_from_disk', { model_path: '/nowhere/at/all' });
    expect(missing).toMatchObject({ status: 400, json: { success: false } });
    expect(await call('/update_weights_from_disk', { model_path: path })).toMatchObject({
      status: 200,
      json: { success: true },
    });
    expect((await call('/flush_cache', {})).status).toBe(200);
    expect((await generate({})).meta_info.output_token_logprobs).toEqual(before.meta_info.output_token_logprobs);
  });

  it('answers a chat', async () => {
    const { status, json, text } = await call('/v1/chat/completions', {
      model: 'default',
      messages: [{ role: 'user', content: 'amber=47' }],
      max_tokens: 4,
      temperature: 0,
      logprobs: true,
    });
    expect(status, text).toBe(200);
    expect(json).toMatchObject({
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant' }, finish_reason: expect.any(String) as string }],
    });
  });

  it('gives the system’s own client the same greedy replies one by one and in batches', async () => {
    const request: GenerateRequest = {
      promptIds: prompt,
      maxNewTokens: 5,
      temperature: 0,
      topP: 1,
      stopTokenIds: [],
      wantLogProbs: true,
    };
    const alone = await clientOf(false).generate(request);
    const batched = clientOf(true);
    const together = await Promise.all([1, 2, 3].map(() => batched.generate(request)));
    for (const reply of together) expect(reply.outputIds).toEqual(alone.outputIds);
    expect(alone.logProbs).toHaveLength(alone.outputIds!.length);
  });

  it('lets a client go away in the middle, and serves on', async () => {
    const controller = new AbortController();
    const gone = post(
      `${endpoint()}/generate`,
      { input_ids: prompt, sampling_params: { max_new_tokens: 60, ignore_eos: true } },
      { signal: controller.signal }
    );
    controller.abort();
    await expect(gone).rejects.toThrow();
    expect((await generate({})).output_ids).toHaveLength(6);
  });
}
