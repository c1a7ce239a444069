import { describe, expect, it } from 'vitest';
import type { Policy, PolicyRow } from '../../../../engines/embedded/policy-api.js';
import { bits, LOSS, OPTIMIZER, randomRows, tensorBits, tinyPolicy } from './tiny.js';

/** Bits of everything that three updates and a scoring leave behind. */
function trained(policy: Policy, rows: PolicyRow[], reference: Policy): string[] {
  const withoutReference = rows.map(({ refLogProbs: _, ...row }) => row);
  const losses = [1, 2, 3].map(() => policy.trainStep(withoutReference, LOSS, OPTIMIZER, reference));
  const supervised = rows.map(({ tokens }) => ({ tokens, weights: tokens.map((_, i) => (i % 3) / 10) }));
  losses.push({ ...losses[0]!, ...policy.supervisedStep(supervised, OPTIMIZER) });
  const { first, second } = policy.optimizerState();
  const scored = policy.logProbs(rows, 0.7).map((values) => bits(values));
  return [JSON.stringify(losses), tensorBits(policy.weights()), tensorBits(first), tensorBits(second), ...scored];
}

async function withThreads(threads: 1 | 2, run: (policy: Policy, reference: Policy) => void): Promise<void> {
  const policy = await tinyPolicy({ threads });
  const reference = await tinyPolicy({ threads, seed: 2 });
  try {
    run(policy, reference);
  } finally {
    await Promise.all([policy.close(), reference.close()]);
  }
}

describe('two threads', () => {
  // One pack, two, an odd number of them, many: what the second thread gets differs.
  it.each([1, 25, 120])('leave the bits of one thread, with %i rows', async (count) => {
    const rows = randomRows(await tinyPolicy(), 3, count);
    const results: string[][] = [];
    for (const threads of [1, 2] as const)
      await withThreads(threads, (policy, reference) => results.push(trained(policy, rows, reference)));
    expect(results[1]).toEqual(results[0]);
  });

  it('see new weights and restored moments at once', async () => {
    const other = (await tinyPolicy({ seed: 7 })).weights();
    const rows = randomRows(await tinyPolicy(), 5, 60);
    const scores: string[][] = [];
    for (const threads of [1, 2] as const)
      await withThreads(threads, (policy) => {
        policy.logProbs(rows, 1);
        policy.setWeights(other);
        scores.push(policy.logProbs(rows, 1).map((values) => bits(values)));
      });
    expect(scores[1]).toEqual(scores[0]);
  });

  it('go on as one after the second was ended', async () => {
    const rows = randomRows(await tinyPolicy(), 5, 60);
    const policy = await tinyPolicy({ threads: 2 });
    const before = policy.logProbs(rows, 1).map((values) => bits(values));
    await policy.close();
    expect(policy.logProbs(rows, 1).map((values) => bits(values))).toEqual(before);
  });
});

describe('the kernels with fused multiply-add', () => {
  it('differ from the plain ones by rounding only, and a row is the same in every company', async () => {
    const [plain, fused] = [await tinyPolicy(), await tinyPolicy({ kernels: 'simd-fused' })];
    expect(fused.kernels).toBe('simd-fused');
    const rows = randomRows(plain, 3, 40);
    const together = fused.logProbs(rows, 1);
    plain
      .logProbs(rows, 1)
      .forEach((values, row) =>
        values.forEach((value, i) => expect(Math.abs(value - together[row]![i]!)).toBeLessThan(2e-5))
      );
    rows.forEach((row, i) => expect(bits(fused.logProbs([row], 1)[0]!)).toBe(bits(together[i]!)));
    const [a, b] = [plain.computeGradients(rows, LOSS), fused.computeGradients(rows, LOSS)];
    expect(Math.abs(a.gradientNorm / b.gradientNorm - 1)).toBeLessThan(1e-5);
  });
});
