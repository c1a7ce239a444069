import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TrainCall } from '../../../../engines/embedded/client/actor-client.js';
import type { TrainingRows } from '../../../../shared/contracts/trajectory.js';
import {
  HYPER,
  PROMPTS,
  type RunningEngine,
  rowsOf,
  sampleRows,
  startTestEngine,
  stateHashes,
  trainCall,
  trainOnce,
} from '../support.js';

let engine: RunningEngine;

beforeAll(async () => {
  engine = await startTestEngine({ mode: 'actor', contextLength: 128 });
});
afterAll(() => engine.stop());

async function held(): Promise<number> {
  return (await engine.client.state()).weights_version;
}

/** A call for the version the actor holds now. */
async function currentCall(rows: TrainingRows): Promise<TrainCall> {
  return await trainCall(engine, await held(), rows);
}

const ROW = { tokens: [...PROMPTS[0]!, 65, 258], logProbs: [-1, -1], advantage: 1 };

let probes = 0;
/** Runs `body`, which must be refused, and checks that weights, moments and counters are what they were. */
async function refused(body: () => Promise<unknown>): Promise<Error> {
  const before = await stateHashes(engine, `before-${(probes += 1)}`);
  const error = await body().then(
    () => expect.fail('the call was not refused'),
    (reason: unknown) => reason as Error
  );
  expect(await stateHashes(engine, `after-${probes}`)).toEqual(before);
  return error;
}

describe('one training step of the actor', () => {
  it('applies one update, raises the version, and reports what it trained on', async () => {
    const before = await stateHashes(engine, 'untrained');
    const rows = await sampleRows(engine, await held());
    const call = await currentCall(rows);
    const reply = await engine.client.trainStep(call);
    expect(reply).toMatchObject({ step: call.step, weights_version: call.step + 1, consumed_rows: rows.tokens.length });
    expect(reply.trained_tokens).toBe(rows.response_lengths.reduce((a, b) => a + b, 0));
    expect(reply.total_tokens).toBe(rows.total_lengths.reduce((a, b) => a + b, 0));
    expect(reply.ended_share).toBe(1 - rows.truncated.reduce((a, b) => a + b, 0) / rows.truncated.length);
    expect(reply.grad_norm).toBeGreaterThan(0);
    expect(reply.entropy).toBeGreaterThan(0);
    const after = await stateHashes(engine, 'trained');
    expect(after['model.safetensors']).not.toBe(before['model.safetensors']);
    expect((await engine.get('/model_info')).json).toMatchObject({ weight_version: String(call.step + 1) });
  });

  it('is on-policy to the bit for rows of its own weights: no ratio but 1, nothing clipped', async () => {
    const reply = await engine.client.trainStep(await currentCall(await sampleRows(engine, await held())));
    expect(reply.max_logprob_difference).toBeLessThan(1e-5);
    expect(reply.mean_ratio).toBeCloseTo(1, 6);
    expect(reply.clip_fraction).toBe(0);
  });

  it('shows rows of stale weights: the ratio leaves 1 and clipping acts', async () => {
    const stale = await sampleRows(engine, await held());
    const fast = { ...HYPER, learningRate: 5e-3 };
    for (let i = 0; i < 3; i += 1) await engine.client.trainStep({ ...(await currentCall(stale)), hyper: fast });
    const reply = await engine.client.trainStep(await currentCall(stale));
    expect(Math.abs(reply.mean_ratio - 1)).toBeGreaterThan(0.01);
    expect(reply.max_logprob_difference).toBeGreaterThan(0.1);
    expect(reply.clip_fraction).toBeGreaterThan(0);
  });

  it('measures the KL to the frozen base, which is 0 only before the first update', async () => {
    await engine.client.reset();
    const first = await engine.client.trainStep(await currentCall(await sampleRows(engine, 0)));
    expect(first.kl).toBeCloseTo(0, 9);
    const second = await engine.client.trainStep(await currentCall(await sampleRows(engine, 1)));
    expect(second.kl).toBeGreaterThan(0);
  });

  it('is a function of weights and rows alone: the same step twice gives the same bits', async () => {
    await engine.client.reset();
    const call = await trainOnce(engine, 0);
    const once = await stateHashes(engine, 'once');
    await engine.client.reset();
    await engine.client.trainStep(call);
    expect(await stateHashes(engine, 'twice')).toEqual(once);
  });

  it('changes nothing but the counters when every mask is 0', async () => {
    const before = await stateHashes(engine, 'unmasked');
    const version = await held();
    const reply = await engine.client.trainStep(await currentCall(rowsOf([{ ...ROW, mask: [0, 0] }])));
    expect(reply).toMatchObject({ consumed_rows: 1, trained_tokens: 0, weights_version: version + 1 });
    const after = await stateHashes(engine, 'masked');
    expect(after['model.safetensors']).toBe(before['model.safetensors']);
    expect(after['optimizer.safetensors']).toBe(before['optimizer.safetensors']);
    expect(after['state.json']).not.toBe(before['state.json']);
  });
});

describe('a training call that must not happen', () => {
  it('is a conflict that names both versions when its weights version is not the one held', async () => {
    const version = await held();
    const call = { ...(await currentCall(rowsOf([ROW]))), expected_weights_version: version + 5 };
    const error = await refused(() => engine.client.trainStep(call));
    expect(error).toMatchObject({ type: 'EngineUnavailable' });
    expect(error.message).toContain(`expects weights version ${version + 5}, the actor holds ${version}`);
    expect((await engine.post('/actor/train_step', call)).status).toBe(409);
  });

  it.each([
    ['an advantage that is not finite', { ...ROW, advantage: NaN }, 'NonFiniteLoss', /nothing was applied/],
    [
      'log-probs that make the loss infinite',
      { ...ROW, logProbs: [-1e9, -1], advantage: -1 },
      'NonFiniteLoss',
      /nothing was applied/,
    ],
    [
      'a row longer than the context',
      { ...ROW, tokens: Array<number>(129).fill(1) },
      'ConversionFailed',
      /129 tokens, the context has 128/,
    ],
    ['an id outside the vocabulary', { ...ROW, tokens: [1, 2, 512] }, 'ConversionFailed', /512/],
    ['a response as long as the row', { ...ROW, tokens: [1, 2] }, 'ConversionFailed', /at least one prompt token/],
    ['a mask that is neither 0 nor 1', { ...ROW, mask: [1, 3] }, 'ConversionFailed', /neither 0 nor 1/],
  ])('is refused for %s, and nothing is applied', async (_, row, type, message) => {
    const call = await currentCall(rowsOf([ROW, row]));
    const error = await refused(() => engine.client.trainStep(call));
    expect(error).toMatchObject({ type });
    expect(error.message).toMatch(message);
  });

  it('is refused for an empty batch, a missing file, and a file that is not the one named', async () => {
    const good = await currentCall(rowsOf([ROW]));
    const empty = await trainCall(engine, 900, rowsOf([]));
    const errors = [
      await refused(async () => engine.client.trainStep({ ...good, rows: empty.rows })),
      await refused(() => engine.client.trainStep({ ...good, rows: { ...good.rows, path: '/nowhere/rows.parquet' } })),
      await refused(() => engine.client.trainStep({ ...good, rows: { ...good.rows, sha256: '0'.repeat(64) } })),
    ];
    expect(errors.map((error) => error.message)).toEqual([
      expect.stringMatching(/there is no row/),
      expect.stringMatching(/cannot be read/),
      expect.stringMatching(/the call names 0000/),
    ]);
  });

  it('is refused without its settings, so that nothing is trained with a default nobody named', async () => {
    const good = await currentCall(rowsOf([ROW]));
    for (const name of Object.keys(HYPER)) {
      const hyper = { ...HYPER, [name]: undefined } as unknown as TrainCall['hyper'];
      const error = await refused(() => engine.client.trainStep({ ...good, hyper }));
      expect(error.message).toContain(name);
    }
  });

  it('is refused by an engine that only serves', async () => {
    const server = await startTestEngine();
    try {
      await expect(server.client.state()).rejects.toThrow(/only serves/);
    } finally {
      await server.stop();
    }
  });
});
