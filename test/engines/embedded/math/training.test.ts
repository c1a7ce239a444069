import { describe, expect, it } from 'vitest';
import type { PolicyRow } from '../../../../engines/embedded/policy-api.js';
import { PipelineError } from '../../../../shared/contracts/pipeline-error.js';
import { bits, LOSS, OPTIMIZER, randomRows, tensorBits, tinyPolicy } from './tiny.js';

/** Everything a step could have changed. */
function stateBits(policy: Awaited<ReturnType<typeof tinyPolicy>>): string {
  const { step, first, second } = policy.optimizerState();
  return [step, tensorBits(policy.weights()), tensorBits(first), tensorBits(second)].join('\n');
}

function failure(run: () => unknown): PipelineError {
  try {
    run();
  } catch (error) {
    if (error instanceof PipelineError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('a training step', () => {
  it.each(['simd', 'reference'] as const)(
    'gives the same bits when it is repeated from the same state (%s)',
    async (kernels) => {
      const runs = await Promise.all([1, 2].map(() => tinyPolicy({ kernels })));
      const rows = randomRows(runs[0]!, 4, 30);
      const states = runs.map((policy) => {
        const losses = [1, 2, 3].map(() => policy.trainStep(rows, LOSS, OPTIMIZER));
        return [JSON.stringify(losses), stateBits(policy)];
      });
      expect(states[0]).toEqual(states[1]);
    }
  );

  it('goes on from saved weights and moments with the bits of never having stopped', async () => {
    const policy = await tinyPolicy();
    const rows = randomRows(policy, 4, 12);
    for (let i = 0; i < 3; i += 1) policy.trainStep(rows, LOSS, OPTIMIZER);
    const saved = { weights: policy.weights(), optimizer: policy.optimizerState() };
    for (let i = 0; i < 3; i += 1) policy.trainStep(rows, LOSS, OPTIMIZER);
    const other = await tinyPolicy({ seed: 99 });
    other.setWeights(saved.weights);
    other.setOptimizerState(saved.optimizer);
    for (let i = 0; i < 3; i += 1) other.trainStep(rows, LOSS, OPTIMIZER);
    expect(stateBits(other)).toBe(stateBits(policy));
  });

  it('lowers the loss of a fixed batch, alike with both kernels', async () => {
    const final = [];
    for (const kernels of ['simd', 'reference'] as const) {
      const policy = await tinyPolicy({ kernels });
      const rows = randomRows(policy, 6, 10);
      const before = policy.computeGradients(rows, LOSS).loss;
      for (let i = 0; i < 15; i += 1) policy.trainStep(rows, LOSS, { ...OPTIMIZER, weightDecay: 0 });
      const after = policy.computeGradients(rows, LOSS).loss;
      expect(after).toBeLessThan(before - 0.05);
      final.push(after);
    }
    expect(final[0]).toBeCloseTo(final[1]!, 3);
  });

  it.each([
    ['an infinite advantage', { advantage: Infinity }],
    ['an advantage that is no number', { advantage: NaN }],
    ['an old log-prob that is no number', { oldLogProbs: [NaN, -1] }],
    ['a reference log-prob that overflows', { refLogProbs: [1e6, -1] }],
  ] as [string, Partial<PolicyRow>][])('applies nothing with %s', async (_, change) => {
    const policy = await tinyPolicy();
    const good = randomRows(policy, 2, 5);
    policy.trainStep(good, LOSS, OPTIMIZER);
    const before = stateBits(policy);
    const row: PolicyRow = {
      tokens: [1, 2, 3, 4],
      responseLength: 2,
      lossMask: [1, 1],
      oldLogProbs: [-1, -1],
      refLogProbs: [-1, -1],
      advantage: 1,
    };
    const error = failure(() => policy.trainStep([...good, { ...row, ...change }], LOSS, OPTIMIZER));
    expect(error.type).toBe('NonFiniteLoss');
    expect(error.message).toMatch(/nothing was applied/);
    expect(stateBits(policy)).toBe(before);
    expect(policy.trainStep(good, LOSS, OPTIMIZER).loss).toSatisfy(Number.isFinite);
  });

  it('changes nothing when every mask is zero, but counts the tokens', async () => {
    const policy = await tinyPolicy();
    const rows = randomRows(policy, 2, 6);
    policy.trainStep(rows, LOSS, OPTIMIZER);
    const before = stateBits(policy);
    const masked = rows.map((row) => ({ ...row, lossMask: row.lossMask.map(() => 0) }));
    const metrics = policy.trainStep(masked, LOSS, OPTIMIZER);
    expect(stateBits(policy)).toBe(before);
    const totalTokens = rows.reduce((sum, { tokens }) => sum + tokens.length, 0);
    expect(metrics).toMatchObject({ loss: 0, gradientNorm: 0, trainedTokens: 0, totalTokens });
  });

  it('computes missing reference log-probs with the reference policy', async () => {
    const policy = await tinyPolicy();
    const reference = await tinyPolicy({ seed: 2 });
    const rows = randomRows(policy, 3, 6).map(({ refLogProbs: _, ...row }) => row);
    const given = reference.logProbs(rows, 1);
    const filled = rows.map((row, i) => ({ ...row, refLogProbs: Array.from(given[i]!) }));
    const half = filled.map((row, i) => (i % 2 === 0 ? row : rows[i]!));
    expect(policy.computeGradients(half, LOSS, reference)).toEqual(policy.computeGradients(filled, LOSS));
    expect(failure(() => policy.computeGradients(rows, LOSS)).message).toMatch(/6 rows have no reference/);
    expect(policy.computeGradients(rows, { ...LOSS, klCoefficient: 0 }).loss).toSatisfy(Number.isFinite);
  });

  it('has ratio 1 on the weights that sampled, and clips when the weights have moved on', async () => {
    const policy = await tinyPolicy();
    const rows = randomRows(policy, 5, 12).map((row) => {
      const now = Array.from(policy.logProbs([row], 1)[0]!);
      return { ...row, lossMask: now.map(() => 1), oldLogProbs: now, refLogProbs: now };
    });
    const fresh = policy.computeGradients(rows, LOSS);
    expect(fresh).toMatchObject({ maxLogProbDifference: 0, clipFraction: 0, ppoKl: 0, kl: 0 });
    expect(fresh.meanRatio).toBeCloseTo(1, 12);
    expect([fresh.minRatio, fresh.maxRatio]).toEqual([1, 1]);
    for (let i = 0; i < 5; i += 1) policy.trainStep(rows, LOSS, { ...OPTIMIZER, learningRate: 2e-2 });
    const stale = policy.computeGradients(rows, LOSS);
    expect(Math.abs(stale.meanRatio - 1)).toBeGreaterThan(0.01);
    expect(stale.maxLogProbDifference).toBeGreaterThan(0.3);
    expect(stale.minRatio).toBeLessThan(stale.meanRatio);
    expect(stale.maxRatio).toBeGreaterThan(stale.meanRatio);
    expect(stale.clipFraction).toBeGreaterThan(0.1);
  });

  it('refuses rows that are empty, too long, out of vocabulary or of unequal lengths, naming each', async () => {
    const policy = await tinyPolicy({ maxSequence: 16 });
    const [row] = randomRows(policy, 1, 1, 4, 2) as [PolicyRow];
    const tokens = [1, ...row.tokens];
    const cases: [PolicyRow[], RegExp][] = [
      [[], /no rows/],
      [[row, { ...row, lossMask: [] }], /row 1: lossMask has 0 entries/],
      [[{ ...row, responseLength: row.tokens.length }], /at least one prompt token/],
      [[{ ...row, tokens: [...Array<number>(20).fill(1), ...tokens] }], /allowed are 1 to 16/],
      [[{ ...row, tokens: [37, ...tokens] }], /token id 37/],
    ];
    for (const [rows, message] of cases) {
      const error = failure(() => policy.trainStep(rows, LOSS, OPTIMIZER));
      expect(error.type).toBe('ConversionFailed');
      expect(error.message).toMatch(message);
    }
  });

  it('decays matrices and embeddings, but not norms', async () => {
    const policy = await tinyPolicy();
    const before = policy.weights();
    // A gradient so small that Adam's epsilon makes the step vanish: only the decay is left.
    const tokens = [1, 2, 3];
    const step = { ...OPTIMIZER, epsilon: 1e12, learningRate: 0.5, weightDecay: 0.1 };
    policy.supervisedStep([{ tokens, weights: [0, 1, 1] }], step);
    policy.weights().forEach(({ name, shape, data }, t) => {
      const factor = shape.length > 1 ? 0.95 : 1;
      const expected = before[t]!.data.map((value) => value * factor);
      const worst = data.reduce((a, value, i) => Math.max(a, Math.abs(value - expected[i]!)), 0);
      expect(worst, name).toBeLessThan(1e-6);
    });
  });

  it('uses new weights at once: nothing cached of the old ones is left', async () => {
    const policy = await tinyPolicy();
    const fresh = await tinyPolicy({ seed: 2 });
    const rows = [{ tokens: [5, 6, 7, 8, 9], responseLength: 4 }];
    const old = bits(policy.logProbs(rows, 1)[0]!);
    policy.setWeights(fresh.weights());
    expect(bits(policy.logProbs(rows, 1)[0]!)).toBe(bits(fresh.logProbs(rows, 1)[0]!));
    expect(bits(policy.logProbs(rows, 1)[0]!)).not.toBe(old);
  });

  it('takes no memory that grows with the steps', async () => {
    const policy = await tinyPolicy();
    const rows = randomRows(policy, 1, 8);
    const run = (count: number): void => {
      for (let i = 0; i < count; i += 1) policy.trainStep(rows, LOSS, OPTIMIZER);
    };
    run(50);
    const before = process.memoryUsage().arrayBuffers;
    run(300);
    expect(process.memoryUsage().arrayBuffers).toBeLessThan(before + 4 * 1024 * 1024);
  });
});
