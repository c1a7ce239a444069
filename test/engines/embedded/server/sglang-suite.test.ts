import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LAPTOP, type Generated, post, PROMPTS, type RunningEngine, startTestEngine } from '../support.js';
import { sglangSuite } from './sglang-suite.js';

/** A running SGLang, e.g. http://127.0.0.1:30000. The engine is then started with the same model, and the two are compared. */
const REAL = process.env['MEMAGENT_SGLANG_URL'];
const prompt = PROMPTS[0]!;
let engine: RunningEngine;
/** Of the real server, where its folder is on this machine. */
let realModel: string | undefined;

beforeAll(async () => {
  if (REAL !== undefined) {
    const info = (await (await fetch(`${REAL}/model_info`)).json()) as { model_path: string };
    if (existsSync(join(info.model_path, 'config.json'))) realModel = info.model_path;
  }
  engine = await startTestEngine({ modelDir: realModel ?? LAPTOP, contextLength: 128, maxBatch: 8 });
});
afterAll(() => engine.stop());

describe('the embedded engine as a server of SGLang’s protocol', () => {
  sglangSuite({ endpoint: () => engine.endpoint, prompt });
});

describe.skipIf(REAL === undefined)('the real SGLang (skipped where MEMAGENT_SGLANG_URL names none)', () => {
  sglangSuite({ endpoint: () => REAL!, prompt });

  it('gives the greedy ids and the log-probs that the engine gives with the same weights', async ({ skip }) => {
    if (realModel === undefined) skip('its model is not on this machine');
    const body = {
      input_ids: prompt,
      sampling_params: { temperature: 0, max_new_tokens: 16, ignore_eos: true },
      return_logprob: true,
      logprob_start_len: 0,
      top_logprobs_num: 4,
    };
    const [ours, theirs] = (await Promise.all(
      [engine.endpoint, REAL!].map(async (endpoint) => (await post(`${endpoint}/generate`, body)).json)
    )) as [Generated, Generated];
    expect(ours.output_ids).toEqual(theirs.output_ids);
    const flat = ({ meta_info: meta }: Generated): number[] =>
      [...meta.input_token_logprobs, ...meta.output_token_logprobs, ...meta.output_top_logprobs.flat()].map(
        ([logProb]) => logProb ?? 0
      );
    flat(ours).forEach((value, i) => expect(Math.abs(value - flat(theirs)[i]!)).toBeLessThan(1e-4));
  });
});
