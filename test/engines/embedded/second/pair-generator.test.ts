import { describe, expect, it } from 'vitest';
import type { GenerationResult, Policy } from '../../../../engines/embedded/policy-api.js';
import { PhiloxStream } from '../../../../shared/random/philox.js';
import { fingerprints, generate, LOSS, OPTIMIZER, randomRows, request, requests, tinyPolicy } from '../math/tiny.js';

async function onTwo(maxBatch: number, run: (policy: Policy) => Promise<void> | void): Promise<void> {
  const policy = await tinyPolicy({ maxBatch, threads: 2 });
  try {
    await run(policy);
  } finally {
    await policy.close();
  }
}

describe('a generator on two threads', () => {
  it.each([40, 5, 1])('gives the bits that one thread gives, %i sequences at once', async (maxBatch) => {
    const expected = fingerprints(generate(await tinyPolicy(), requests()));
    await onTwo(maxBatch, (policy) => {
      expect(fingerprints(generate(policy, requests()))).toEqual(expected);
      // Again with caches that hold the prompts, in another order, so that each runs elsewhere.
      expect(fingerprints(generate(policy, requests().reverse()))).toEqual(expected);
    });
  });

  it('gives the same bits when requests come and go while others run', async () => {
    const expected = fingerprints(generate(await tinyPolicy(), requests()));
    await onTwo(7, (policy) => {
      const random = new PhiloxStream(8);
      const waiting = random.shuffle(requests());
      const results = new Map<string, GenerationResult>();
      while (waiting.length > 0 || policy.generator.hasWork()) {
        for (const one of waiting.splice(0, random.nextInt(4))) policy.generator.submit(one);
        for (const result of policy.generator.advance()) results.set(result.id, result);
        expect(policy.generator.running).toBeLessThanOrEqual(8);
      }
      expect(fingerprints(results)).toEqual(expected);
    });
  });

  it('takes new weights on both threads, and lends no keys and values of the old ones', async () => {
    const learned = (policy: Policy): Record<string, string>[] => {
      const rows = randomRows(policy, 3, 60);
      const before = fingerprints(generate(policy, requests()));
      policy.trainStep(rows, LOSS, OPTIMIZER);
      return [before, fingerprints(generate(policy, requests()))];
    };
    const [before, after] = learned(await tinyPolicy());
    expect(after).not.toEqual(before);
    await onTwo(16, (policy) => expect(learned(policy)).toEqual([before, after]));
  });

  it('streams the tokens of both halves, each sequence’s in order', async () => {
    await onTwo(8, (policy) => {
      const seen: Record<string, number[]> = {};
      const results = new Map<string, GenerationResult>();
      for (const one of requests(12)) policy.generator.submit(one);
      while (policy.generator.hasWork())
        for (const result of policy.generator.advance((id, token) => (seen[id] ??= []).push(token)))
          results.set(result.id, result);
      expect(results.size).toBe(12);
      for (const [id, { outputIds }] of results) expect(seen[id]).toEqual(outputIds);
    });
  });

  it('ends a waiting request and a running one of either half, and serves on', async () => {
    const long = (id: string) => request(id, [1, 2, 3], { maxNewTokens: 40 });
    await onTwo(2, (policy) => {
      const { generator } = policy;
      for (const id of ['near1', 'far2', 'waits3']) generator.submit(long(id));
      expect(generator.advance()).toEqual([]);
      expect([generator.running, generator.waiting]).toEqual([2, 1]);
      for (const id of ['waits3', 'near1', 'far2']) expect(generator.abort(id), id).toBe(true);
      for (const id of ['near1', 'far2', 'gone']) expect(generator.abort(id), id).toBe(false);
      expect([generator.running, generator.waiting]).toEqual([0, 0]);
      const ended = generator.advance();
      expect(ended.map(({ finish }) => finish.type)).toEqual(['abort', 'abort', 'abort']);
      expect(ended.map(({ id, outputIds }) => [id, outputIds.length]).sort()).toEqual([
        ['far2', 1],
        ['near1', 1],
        ['waits3', 0],
      ]);
      expect(generator.hasWork()).toBe(false);
      expect(generate(policy, [long('next4')]).get('next4')?.outputIds).toHaveLength(40);
    });
  });

  it('answers a request that cannot be served with an error of that request alone', async () => {
    const good = requests(6);
    const expected = fingerprints(generate(await tinyPolicy(), good));
    const bad = [request('bad7', []), request('bad8', [1e9]), request('bad9', [1], { temperature: Number.NaN })];
    await onTwo(4, (policy) => {
      const results = generate(policy, [...good, ...bad]);
      for (const { id } of bad) {
        expect(results.get(id)?.finish.type).toBe('error');
        results.delete(id);
      }
      expect(fingerprints(results)).toEqual(expected);
    });
  });

  it('goes on as one when the second thread is ended in the middle', async () => {
    const expected = fingerprints(generate(await tinyPolicy(), requests()));
    await onTwo(12, async (policy) => {
      const results = new Map<string, GenerationResult>();
      for (const one of requests()) policy.generator.submit(one);
      for (let step = 0; step < 5; step += 1)
        for (const result of policy.generator.advance()) results.set(result.id, result);
      await policy.close();
      while (policy.generator.hasWork())
        for (const result of policy.generator.advance()) results.set(result.id, result);
      expect(fingerprints(results)).toEqual(expected);
    });
  });
});
