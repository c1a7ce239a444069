import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadWeights } from '../../../../engines/serving/load-weights.js';
import { LAPTOP, sampleRows, startTestEngine, trainOnce, type RunningEngine } from '../support.js';

let actor: RunningEngine;
let server: RunningEngine;
const never = new AbortController().signal;

beforeAll(async () => {
  actor = await startTestEngine({ mode: 'actor', referenceDir: LAPTOP });
  server = await startTestEngine();
  await trainOnce(actor, 0);
});
afterAll(() => Promise.all([actor.stop(), server.stop()]));

describe('an actor whose weights are served by another engine', () => {
  it('scores what that engine samples from its exported weights with the same log-probs', async () => {
    const dir = join(actor.folder, 'weights/version-1');
    expect(await actor.client.exportModel({ dir, expected_weights_version: 1 })).toMatchObject({ weights_version: 1 });
    expect(await readdir(dir)).toContain('tokenizer.json');
    expect(await readdir(join(actor.folder, 'weights'))).toEqual(['version-1']);
    await loadWeights({ endpoint: server.endpoint, apiKey: undefined, folder: dir, version: '1' }, never);
    const sampled = await sampleRows(server, 1);
    const rows = sampled.tokens.map((tokens, i) => ({ tokens, response_length: sampled.response_lengths[i]! }));
    const scored = await actor.client.score({ expected_weights_version: 1, rows, temperature: 1 });
    scored
      .flat()
      .forEach((logProb, i) => expect(Math.abs(logProb - sampled.rollout_log_probs.flat()[i]!)).toBeLessThan(1e-5));
  });

  it('refuses to export or score another version than it holds, and rows that it cannot score', async () => {
    const dir = join(actor.folder, 'weights/version-2');
    const score = (rows: object[], version = 1): Promise<unknown> =>
      actor.client.score({ expected_weights_version: version, rows: rows as never, temperature: 1 });
    await expect(actor.client.exportModel({ dir, expected_weights_version: 2 })).rejects.toMatchObject({
      type: 'EngineUnavailable',
    });
    await expect(score([{ tokens: [1, 2], response_length: 1 }], 2)).rejects.toMatchObject({
      type: 'EngineUnavailable',
    });
    for (const row of [
      { tokens: [1, 512], response_length: 1 },
      { tokens: [1, 2], response_length: 2 },
      { tokens: Array(300).fill(1), response_length: 1 },
    ])
      await expect(score([row])).rejects.toMatchObject({ type: 'ConversionFailed' });
  });

  it('is told when the server does not load a folder, which goes on with the weights it has', async () => {
    const update = {
      endpoint: server.endpoint,
      apiKey: undefined,
      folder: join(actor.folder, 'nowhere'),
      version: '9',
    };
    await expect(loadWeights(update, never)).rejects.toMatchObject({
      type: 'EngineUnavailable',
      message: expect.stringContaining('did not load weights version 9') as string,
    });
    expect((await server.get('/model_info')).json).toMatchObject({ weight_version: '1' });
  });
});
