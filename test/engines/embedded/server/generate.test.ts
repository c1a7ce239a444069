import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadTokenizer } from '../../../../shared/tokenizer/tokenizer.js';
import type { Tokenizer } from '../../../../shared/tokenizer/types.js';
import { type Generated, LAPTOP, PROMPTS, type RunningEngine, startTestEngine } from '../support.js';

let engine: RunningEngine;
let tokenizer: Tokenizer;

beforeAll(async () => {
  engine = await startTestEngine();
  tokenizer = await loadTokenizer(LAPTOP);
});
afterAll(() => engine.stop());

const key = (sample: number, turn = 0): object => ({ memagent_key: [7, 0, 0, sample, turn] });

async function one(body: object): Promise<Generated> {
  const { status, json, text } = await engine.post('/generate', body);
  expect(status, text).toBe(200);
  return json as Generated;
}

async function many(body: object): Promise<Generated[]> {
  const { status, json, text } = await engine.post('/generate', body);
  expect(status, text).toBe(200);
  return json as Generated[];
}

describe('generation by the embedded engine', () => {
  it('gives the same tokens and log-probs for the same sampling key, alone, in any batch and in any order', async () => {
    const params = (sample: number): object => ({ max_new_tokens: 12, ignore_eos: true, custom_params: key(sample) });
    const alone = await Promise.all(
      [0, 1, 2, 3, 4].map((sample) =>
        one({ input_ids: PROMPTS[sample % 2], sampling_params: params(sample), return_logprob: true })
      )
    );
    const order = [3, 0, 4, 1, 2];
    const batch = await many({
      input_ids: order.map((sample) => PROMPTS[sample % 2]),
      sampling_params: order.map(params),
      return_logprob: true,
    });
    order.forEach((sample, place) => {
      expect(batch[place]!.output_ids).toEqual(alone[sample]!.output_ids);
      expect(batch[place]!.meta_info.output_token_logprobs).toEqual(alone[sample]!.meta_info.output_token_logprobs);
    });
    expect(new Set(alone.map(({ output_ids: ids }) => ids.join())).size).toBeGreaterThan(1);
  });

  it('takes another key for other tokens, and the sampling seed or the request id where no key is given', async () => {
    const params = { max_new_tokens: 16, ignore_eos: true, temperature: 1.5 };
    const run = async (extra: object, rest: object = {}): Promise<string> =>
      (await one({ input_ids: PROMPTS[0], sampling_params: { ...params, ...extra }, ...rest })).output_ids.join();
    expect(await run({ custom_params: key(0, 1) })).not.toBe(await run({ custom_params: key(0, 2) }));
    expect(await run({ sampling_seed: 5 })).toBe(await run({ sampling_seed: 5 }, { rid: 'other' }));
    expect(await run({ sampling_seed: 5 })).not.toBe(await run({ sampling_seed: 6 }));
    expect(await run({}, { rid: 'a' })).toBe(await run({}, { rid: 'a' }));
    expect(await run({}, { rid: 'a' })).not.toBe(await run({}, { rid: 'b' }));
  });

  it('decodes greedily at temperature 0, whatever the key', async () => {
    const run = (sample: number): Promise<Generated> =>
      one({
        input_ids: PROMPTS[0],
        sampling_params: { temperature: 0, max_new_tokens: 8, custom_params: key(sample) },
        return_logprob: true,
        top_logprobs_num: 3,
      });
    const first = await run(0);
    expect((await run(1)).output_ids).toEqual(first.output_ids);
    first.output_ids.forEach((id, position) => {
      const top = first.meta_info.output_top_logprobs[position]!;
      expect(top).toHaveLength(3);
      expect(top[0]![1]).toBe(id);
      expect(top[0]![0]).toBe(first.meta_info.output_token_logprobs[position]![0]);
    });
  });

  it('makes n samples of one prompt, each by its own random numbers, each repeatable by its own key', async () => {
    const params = { max_new_tokens: 10, ignore_eos: true };
    const samples = await many({ input_ids: PROMPTS[0], sampling_params: { ...params, n: 3, custom_params: key(10) } });
    expect(samples).toHaveLength(3);
    const second = await one({ input_ids: PROMPTS[0], sampling_params: { ...params, custom_params: key(11) } });
    expect(samples[1]!.output_ids).toEqual(second.output_ids);
  });

  it('ends at the end token and at own stop ids, and at neither when told to ignore them', async () => {
    const greedy = { temperature: 0, max_new_tokens: 12 };
    const free = await one({ input_ids: PROMPTS[0], sampling_params: { ...greedy, ignore_eos: true } });
    expect(free.output_ids).toHaveLength(12);
    expect(free.meta_info.finish_reason).toEqual({ type: 'length', length: 12 });
    const stop = free.output_ids[2]!;
    const first = free.output_ids.indexOf(stop);
    const stopped = await one({
      input_ids: PROMPTS[0],
      sampling_params: { ...greedy, stop_token_ids: [stop], ignore_eos: false },
    });
    expect(stopped.meta_info.finish_reason).toEqual({ type: 'stop', matched: stopped.output_ids.at(-1) });
    expect(stopped.output_ids.length).toBeLessThanOrEqual(first + 1);
    expect(stopped.text).toBe(tokenizer.decode(stopped.output_ids.slice(0, -1)));
    const kept = await one({
      input_ids: PROMPTS[0],
      sampling_params: { ...greedy, stop_token_ids: [stop], no_stop_trim: true, skip_special_tokens: false },
    });
    expect(kept.text).toBe(tokenizer.decode(kept.output_ids, { skipSpecialTokens: false }));
  });

  it('scores a prompt without making a token, and the scores are those of sampling at temperature 1', async () => {
    const made = await one({
      input_ids: PROMPTS[0],
      sampling_params: { max_new_tokens: 6, ignore_eos: true, custom_params: key(1) },
      return_logprob: true,
    });
    const whole = [...PROMPTS[0]!, ...made.output_ids];
    const from = PROMPTS[0]!.length;
    const scored = await one({
      input_ids: whole,
      sampling_params: { max_new_tokens: 0 },
      return_logprob: true,
      logprob_start_len: from,
    });
    expect(scored.output_ids).toEqual([]);
    const inputs = scored.meta_info.input_token_logprobs;
    expect(inputs.map(([, id]) => id)).toEqual(made.output_ids);
    inputs.forEach(([logProb], i) => expect(logProb).toBeCloseTo(made.meta_info.output_token_logprobs[i]![0], 5));
    const all = await one({
      input_ids: whole,
      sampling_params: { max_new_tokens: 0 },
      return_logprob: true,
      logprob_start_len: 0,
    });
    expect(all.meta_info.input_token_logprobs[0]).toEqual([null, whole[0], null]);
    expect(all.meta_info.input_token_logprobs).toHaveLength(whole.length);
  });

  it('scales output log-probs by the temperature', async () => {
    const run = async (temperature: number): Promise<number> => {
      const reply = await one({
        input_ids: PROMPTS[0],
        sampling_params: { temperature, top_k: 1, max_new_tokens: 1, ignore_eos: true },
        return_logprob: true,
      });
      return reply.meta_info.output_token_logprobs[0]![0];
    };
    const [cold, warm, hot] = [await run(0.25), await run(1), await run(4)];
    expect(cold).toBeGreaterThan(warm);
    expect(warm).toBeGreaterThan(hot);
  });

  it('streams the same tokens and log-probs that it would send at once', async () => {
    const body = {
      input_ids: PROMPTS[1],
      sampling_params: { max_new_tokens: 5, ignore_eos: true, custom_params: key(3) },
      return_logprob: true,
    };
    const whole = await one(body);
    const { text } = await engine.post('/generate', { ...body, stream: true });
    const events = text.trim().split('\n\n');
    expect(events.at(-1)).toBe('data: [DONE]');
    const replies = events.slice(0, -1).map((event) => JSON.parse(event.slice('data: '.length)) as Generated);
    const last = replies.at(-1)!;
    expect(last.output_ids).toEqual(whole.output_ids);
    expect(last.text).toBe(whole.text);
    expect(last.meta_info.output_token_logprobs).toEqual(whole.meta_info.output_token_logprobs);
    expect(last.meta_info.finish_reason).toEqual(whole.meta_info.finish_reason);
    for (const { output_ids: ids, meta_info: meta } of replies.slice(0, -1)) {
      expect(meta.finish_reason).toBeNull();
      expect(ids).toEqual(whole.output_ids.slice(0, ids.length));
    }
  });

  it('answers a text like its token ids, and a chat like the prompt that its template makes', async () => {
    const text = 'amber=47;\namber=';
    const greedy = { temperature: 0, max_new_tokens: 3 };
    const byText = await one({ text, sampling_params: greedy });
    const byIds = await one({ input_ids: tokenizer.encode(text), sampling_params: greedy });
    expect(byText.output_ids).toEqual(byIds.output_ids);
    const messages = [{ role: 'user' as const, content: text }];
    const rendered = await one({ text: tokenizer.renderChat(messages), sampling_params: greedy });
    const { json } = await engine.post('/v1/chat/completions', { messages, temperature: 0, max_tokens: 3 });
    const chat = json as { choices: { message: { content: string } }[]; usage: { prompt_tokens: number } };
    expect(chat.choices[0]!.message.content).toBe(rendered.text);
    expect(chat.usage.prompt_tokens).toBe(rendered.meta_info.prompt_tokens);
  });

  it('streams a chat in pieces that add up to the whole answer', async () => {
    const body = {
      messages: [{ role: 'user', content: 'amber=' }],
      max_tokens: 24,
      seed: 3,
      temperature: 2,
      ignore_eos: true,
      stream_options: { include_usage: true },
    };
    const whole = (await engine.post('/v1/chat/completions', body)).json as {
      choices: { message: { content: string } }[];
      usage: unknown;
    };
    const { text } = await engine.post('/v1/chat/completions', { ...body, stream: true });
    const chunks = text
      .trim()
      .split('\n\n')
      .slice(0, -1)
      .map(
        (event) =>
          JSON.parse(event.slice('data: '.length)) as { choices: { delta: { content?: string } }[]; usage?: unknown }
      );
    const content = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? '')).join('');
    expect(content).toBe(whole.choices[0]!.message.content);
    expect(chunks.at(-1)!.usage).toEqual(whole.usage);
  });
});
