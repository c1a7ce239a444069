import { describe, expect, it } from 'vitest';
import type {
  LossOptions,
  NamedTensor,
  Policy,
  PolicyRow,
  Qwen3Config,
} from '../../../../engines/embedded/policy-api.js';
import { PhiloxStream } from '../../../../shared/random/philox.js';
import { LOSS, randomRows, tinyPolicy, TINY } from './tiny.js';

/** Random small shapes; all widths multiples of 4 so that both kernels take them. */
function randomShape(random: PhiloxStream): Qwen3Config {
  const kvHeads = 1 + random.nextInt(2);
  return {
    ...TINY,
    vocabSize: 9 + random.nextInt(40),
    hiddenSize: 4 * (2 + random.nextInt(5)),
    layers: 1 + random.nextInt(3),
    kvHeads,
    heads: kvHeads * (1 + random.nextInt(3)),
    headDim: 4 * (1 + random.nextInt(5)),
    intermediateSize: 4 * (2 + random.nextInt(6)),
    tied: random.nextInt(2) === 0,
  };
}

/** Smooth everywhere: clipping so wide that no ratio is near a bound, and a KL term that counts. */
const SMOOTH: LossOptions = { ...LOSS, clipLow: 0.99, clipHigh: 50, klCoefficient: 0.5 };

/**
 * Derivative of the loss along a direction of one tensor by the five-point rule
 * (8 (L(h) − L(−h)) − (L(2h) − L(−2h))) / 12h, and what the gradient says about it.
 */
function directional(
  policy: Policy,
  rows: PolicyRow[],
  weights: NamedTensor[],
  gradients: NamedTensor[],
  at: number,
  random: PhiloxStream
): { numeric: number; analytic: number; scale: number } {
  const { data } = weights[at]!;
  const gradient = gradients[at]!.data;
  // Half along the gradient, half random: large enough to rise above float32 noise, and not blind to errors.
  const norm = Math.sqrt(gradient.reduce((sum, g) => sum + g * g, 0));
  const direction = Float64Array.from(gradient, (g) => g / norm + random.nextNormal() / Math.sqrt(data.length));
  const step = 0.001;
  const loss = (times: number): number => {
    const moved = Float32Array.from(data, (value, i) => value + times * step * direction[i]!);
    policy.setWeights(weights.map((tensor, i) => (i === at ? { ...tensor, data: moved } : tensor)));
    return policy.computeGradients(rows, SMOOTH).loss;
  };
  const numeric = (8 * (loss(1) - loss(-1)) - (loss(2) - loss(-2))) / (12 * step);
  policy.setWeights(weights);
  const analytic = gradient.reduce((sum, g, i) => sum + g * direction[i]!, 0);
  return { numeric, analytic, scale: norm };
}

describe('gradients', () => {
  it.each([
    ['simd', 1],
    ['simd', 2],
    ['simd', 3],
    ['simd', 4],
    ['simd', 5],
    ['reference', 6],
    ['reference', 7],
  ] as const)('agree with finite differences for every tensor (%s kernels, random shape %i)', async (kernels, seed) => {
    const random = new PhiloxStream(seed, [2, 0, 0]);
    const config = randomShape(random);
    const policy = await tinyPolicy({ config, seed, kernels });
    const rows = randomRows(policy, seed, 4);
    const weights = policy.weights();
    policy.computeGradients(rows, SMOOTH);
    const gradients = policy.gradients();
    const wrong = weights.flatMap(({ name }, at) => {
      if (gradients[at]!.data.every((g) => g === 0)) return [`${name}: no gradient at all`];
      const { numeric, analytic, scale } = directional(policy, rows, weights, gradients, at, random);
      const error = Math.abs(numeric - analytic) / scale;
      return error < 0.004 ? [] : [`${name}: numeric ${numeric}, analytic ${analytic}`];
    });
    expect(wrong).toEqual([]);
  });

  it('are the sum of those of the rows, by token mean, whatever is packed together', async () => {
    const policy = await tinyPolicy();
    const rows = randomRows(policy, 3, 40);
    const loss: LossOptions = { ...LOSS, reduction: 'token_mean' };
    policy.computeGradients(rows, loss);
    const together = policy.gradients();
    const tokens = rows.reduce((sum, row) => sum + row.lossMask.reduce((a, b) => a + b, 0), 0);
    const sum = together.map(({ data }) => new Float64Array(data.length));
    for (const row of rows) {
      const own = row.lossMask.reduce((a, b) => a + b, 0);
      policy.computeGradients([row], loss);
      policy.gradients().forEach(({ data }, t) => data.forEach((g, i) => (sum[t]![i]! += (g * own) / tokens)));
    }
    together.forEach(({ data, name }, t) => {
      const worst = data.reduce((a, g, i) => Math.max(a, Math.abs(g - sum[t]![i]!)), 0);
      const largest = data.reduce((a, g) => Math.max(a, Math.abs(g)), 0);
      expect(worst / largest, name).toBeLessThan(1e-5);
    });
  });

  it('of supervised steps equal those of a policy gradient with the same coefficients', async () => {
    const policy = await tinyPolicy();
    const tokens = [3, 1, 4, 1, 5, 9, 2, 6];
    const weights = [0, 0, 0, 0.5, 0, 0.25, 0, 1];
    const other = await tinyPolicy();
    const step = { learningRate: 1e-2, beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0, gradientClip: 0 };
    const { loss, gradientNorm } = policy.supervisedStep([{ tokens, weights }], step);
    const response = weights.slice(3);
    const now = Array.from(other.logProbs([{ tokens, responseLength: 5 }], 1)[0]!);
    const row = { tokens, responseLength: 5, lossMask: response, oldLogProbs: now, refLogProbs: now, advantage: 1 };
    const expected = now.reduce((sum, logProb, i) => sum - response[i]! * logProb, 0);
    expect(loss).toBeCloseTo(expected, 5);
    const scale = 1.75;
    const grpo = other.trainStep([row], { ...LOSS, klCoefficient: 0, reduction: 'sample_mean' }, step);
    expect(grpo.gradientNorm * scale).toBeCloseTo(gradientNorm, 4);
    const moved = policy.weights();
    other
      .weights()
      .forEach(({ data }, t) =>
        data.forEach((value, i) => expect(Math.abs(value - moved[t]!.data[i]!)).toBeLessThan(2e-3))
      );
  });
});
