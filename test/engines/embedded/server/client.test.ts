import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createInferenceClient } from '../../../../shared/inference/client.js';
import type { GenerateRequest, InferenceClient } from '../../../../shared/inference/types.js';
import { LAPTOP, PROMPTS, type RunningEngine, startTestEngine } from '../support.js';

let engine: RunningEngine;
const clients: InferenceClient[] = [];

beforeAll(async () => {
  engine = await startTestEngine({ mode: 'actor', contextLength: 512 });
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await engine.stop();
});

function clientOf(coalesce: boolean): InferenceClient {
  const options = { endpoint: engine.endpoint, coalesce, concurrency: 64, retry: { attempts: 2, baseDelayMs: 1 } };
  const client = createInferenceClient({ protocol: 'sglang', vocabSize: 512, ...options });
  clients.push(client);
  return client;
}

function request(sample: number, changes: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    promptIds: PROMPTS[sample % 2]!,
    maxNewTokens: 8,
    temperature: 1,
    topP: 1,
    stopTokenIds: [],
    wantLogProbs: true,
    samplingKey: [3, 1, 0, sample, 0],
    ...changes,
  };
}

describe('the system’s own SGLang client against the embedded engine', () => {
  it('reads back what is served', async () => {
    expect(await clientOf(false).facts()).toMatchObject({
      modelPath: LAPTOP,
      contextLength: 512,
      vocabSize: 512,
      weightsVersion: '0',
      seeding: 'key',
      engineVersion: expect.stringMatching(/^memagent-embedded-/) as string,
    });
  });

  it('gets the same replies one by one and in batches', async () => {
    const samples = Array.from({ length: 40 }, (_, sample) => sample);
    const [single, batched] = [clientOf(false), clientOf(true)];
    const alone = await Promise.all(samples.map((sample) => single.generate(request(sample))));
    const together = await Promise.all([...samples].reverse().map((sample) => batched.generate(request(sample))));
    expect(together.reverse()).toEqual(alone);
    for (const reply of alone) {
      expect(reply.logProbs).toHaveLength(reply.outputIds!.length);
      expect(reply).toMatchObject({ weightsVersion: '0', completionTokens: reply.outputIds!.length });
    }
  });

  it('loses one bad request of a batch and no other', async () => {
    const client = clientOf(true);
    const bad = request(1, { promptIds: Array<number>(600).fill(1) });
    const outcomes = await Promise.allSettled([
      client.generate(request(0)),
      client.generate(bad),
      client.generate(request(2)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({
      reason: { type: 'GenerationFailed', message: expect.stringContaining('600 tokens') as string },
    });
  });

  it('makes the engine stop when it is told to stop waiting', async () => {
    const controller = new AbortController();
    const waiting = clientOf(false).generate(request(0, { maxNewTokens: 450, temperature: 5 }), {
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(new Error('enough')), 5);
    await expect(waiting).rejects.toThrow('enough');
    for (let busy = 1; busy > 0;) {
      busy = ((await engine.get('/server_info')).json as { num_running_reqs: number }).num_running_reqs;
    }
  });
});
