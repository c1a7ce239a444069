import { describe, expect, it } from 'vitest';
import type { GenerationResult, Policy } from '../../../../engines/embedded/policy-api.js';
import { PhiloxStream } from '../../../../shared/random/philox.js';
import { bits, fingerprints, generate, randomTokens, request, requests, tinyPolicy } from './tiny.js';

async function alone(policy: Policy): Promise<Record<string, string>> {
  const results = new Map<string, GenerationResult>();
  for (const one of requests()) {
    policy.flushCache();
    for (const [id, result] of generate(policy, [one])) results.set(id, result);
  }
  return fingerprints(results);
}

describe('what shares the batch', () => {
  it.each(['simd', 'reference'] as const)('never changes a bit of a result (%s kernels)', async (kernels) => {
    const expected = await alone(await tinyPolicy({ kernels }));
    const whole = await tinyPolicy({ kernels, maxBatch: 40 });
    expect(fingerprints(generate(whole, requests()))).toEqual(expected);
    const narrow = await tinyPolicy({ kernels, maxBatch: 5 });
    expect(fingerprints(generate(narrow, requests().reverse()))).toEqual(expected);
    // Again on a policy whose caches are full of the same prompts: shared beginnings change nothing either.
    expect(fingerprints(generate(narrow, requests()))).toEqual(expected);
  });

  it('never changes a bit when requests come and go while others run', async () => {
    const expected = await alone(await tinyPolicy());
    const policy = await tinyPolicy({ maxBatch: 6 });
    const random = new PhiloxStream(8);
    const waiting = random.shuffle(requests());
    const results = new Map<string, GenerationResult>();
    while (waiting.length > 0 || policy.generator.hasWork()) {
      for (const one of waiting.splice(0, random.nextInt(4))) policy.generator.submit(one);
      for (const result of policy.generator.advance()) results.set(result.id, result);
    }
    expect(fingerprints(results)).toEqual(expected);
  });

  it('gives the log-probs of sampling again, to the last bit, when the tokens are scored or trained on', async () => {
    const policy = await tinyPolicy({ maxBatch: 16 });
    const all = requests().filter(({ temperature }) => temperature === 1);
    const results = generate(policy, all);
    const rows = all.map(({ id, promptIds }) => {
      const { outputIds } = results.get(id)!;
      return { tokens: [...promptIds, ...outputIds], responseLength: outputIds.length };
    });
    const scored = policy.logProbs(rows, 1);
    all.forEach(({ id }, i) => expect(bits(scored[i]!)).toBe(bits(results.get(id)!.outputLogProbs)));
    const metrics = policy.computeGradients(
      rows.map((row, i) => {
        const old = Array.from(scored[i]!);
        return { ...row, lossMask: old.map(() => 1), oldLogProbs: old, refLogProbs: old, advantage: 1 };
      }),
      { clipLow: 0.2, clipHigh: 0.3, klCoefficient: 0.001, temperature: 1, reduction: 'sample_mean' }
    );
    expect(metrics.maxLogProbDifference).toBe(0);
    expect(metrics.meanRatio).toBeCloseTo(1, 12);
  });

  it('gives prompt log-probs that are those of scoring, with or without a shared beginning', async () => {
    const policy = await tinyPolicy();
    const prompt = randomTokens(new PhiloxStream(4), 50);
    const scored = policy.logProbs([{ tokens: prompt, responseLength: 49 }], 1)[0]!;
    generate(policy, [request('first', prompt)]);
    for (const from of [0, 1, 20, 49]) {
      const result = generate(policy, [request('x', prompt, { promptLogProbsFrom: from, maxNewTokens: 0 })]).get('x')!;
      expect(result.finish).toEqual({ type: 'length' });
      expect(result.outputIds).toEqual([]);
      const expected = from === 0 ? [null, ...scored] : [...scored.slice(from - 1)];
      expect(result.promptLogProbs).toEqual(expected);
    }
  });
});
