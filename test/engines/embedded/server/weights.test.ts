import { cp, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readSafetensors } from '../../../../shared/safetensors/read.js';
import { encodeSafetensors } from '../../../../shared/safetensors/write.js';
import { type Generated, LAPTOP, PROMPTS, type RunningEngine, startTestEngine } from '../support.js';

let engine: RunningEngine;
let other: string;

beforeEach(async () => {
  engine = await startTestEngine();
  other = join(engine.folder, 'other');
  await cp(LAPTOP, other, { recursive: true });
});
afterEach(() => engine.stop());

const BODY = {
  input_ids: PROMPTS[0],
  sampling_params: { temperature: 0, max_new_tokens: 8, ignore_eos: true },
  return_logprob: true,
};

async function greedy(): Promise<Generated> {
  return (await engine.post('/generate', BODY)).json as Generated;
}

/** Other weights of the same shape. */
async function changeWeights(factor: number): Promise<void> {
  const path = join(other, 'model.safetensors');
  const tensors = await readSafetensors(path);
  await writeFile(
    path,
    encodeSafetensors(tensors.map((tensor) => ({ ...tensor, data: tensor.data.map((w) => w * factor) })))
  );
}

async function update(path: string, more: object = {}): Promise<{ status: number; success: boolean; message: string }> {
  const { status, json } = await engine.post('/update_weights_from_disk', { model_path: path, ...more });
  return { status, ...(json as { success: boolean; message: string }) };
}

describe('an update of the weights from disk', () => {
  it('serves the new weights under their version, and says where they came from', async () => {
    await changeWeights(1.5);
    const before = await greedy();
    expect(before.meta_info.weight_version).toBe('default');
    expect(await update(other, { weight_version: 'step-7' })).toMatchObject({ status: 200, success: true });
    const after = await greedy();
    expect(after.meta_info.weight_version).toBe('step-7');
    expect(after.meta_info.output_token_logprobs).not.toEqual(before.meta_info.output_token_logprobs);
    expect((await engine.get('/model_info')).json).toMatchObject({ model_path: other, weight_version: 'step-7' });
    expect((await engine.get('/v1/models')).json).toMatchObject({ data: [{ id: other }] });
    await update(LAPTOP, { weight_version: 'default' });
    expect((await greedy()).meta_info.output_token_logprobs).toEqual(before.meta_info.output_token_logprobs);
  });

  it('lets running requests finish with the weights they began with', async () => {
    const body = {
      input_ids: PROMPTS[0],
      sampling_params: { max_new_tokens: 200, ignore_eos: true, sampling_seed: 3 },
    };
    const calm = ((await engine.post('/generate', body)).json as Generated).output_ids;
    await changeWeights(0.5);
    const [running, updated] = await Promise.all([engine.post('/generate', body), update(other)]);
    expect(updated.success).toBe(true);
    const { output_ids: ids, meta_info: meta } = running.json as Generated;
    expect([ids, meta.weight_version]).toEqual([calm, 'default']);
  });

  it.each([
    ['a folder that is not there', async () => join(other, 'missing'), /cannot be read/],
    [
      'a torn weights file',
      async () => {
        await truncate(join(other, 'model.safetensors'), 300_000);
        return other;
      },
      /torn or padded|bytes/,
    ],
    [
      'a model of another shape',
      async () => {
        const path = join(other, 'config.json');
        const config = JSON.parse(await readFile(path, 'utf8')) as object;
        await writeFile(path, JSON.stringify({ ...config, num_attention_heads: 8 }));
        return other;
      },
      /another model: heads is 8/,
    ],
    [
      'weights that are not finite',
      async () => {
        await changeWeights(Infinity);
        return other;
      },
      /not finite/,
    ],
  ])('refuses %s and serves the old weights on', async (_, prepare, message) => {
    const before = await greedy();
    const refused = await update(await prepare());
    expect(refused).toMatchObject({ status: 400, success: false });
    expect(refused.message).toMatch(message);
    expect(await greedy()).toMatchObject({ output_ids: before.output_ids, meta_info: { weight_version: 'default' } });
  });

  it('is refused while paused requests hold the old weights, and done when they are aborted', async () => {
    await engine.post('/pause_generation', { mode: 'in_place' });
    const held = engine.post('/generate', BODY);
    while (((await engine.get('/server_info')).json as { num_running_reqs: number }).num_running_reqs === 0);
    expect(await update(other)).toMatchObject({
      status: 400,
      message: expect.stringContaining('holds 1 requests') as string,
    });
    expect(await update(other, { abort_all_requests: true })).toMatchObject({ status: 200, success: true });
    expect(((await held).json as Generated).meta_info.finish_reason.type).toBe('abort');
    await engine.post('/continue_generation', {});
    expect((await engine.get('/health_generate')).status).toBe(200);
  });

  it('is refused by an actor, whose weights are the ones it trained', async () => {
    const actor = await startTestEngine({ mode: 'actor' });
    try {
      const { status, json } = await actor.post('/update_weights_from_disk', { model_path: LAPTOP });
      expect([status, json]).toMatchObject([400, { success: false }]);
    } finally {
      await actor.stop();
    }
  });
});
