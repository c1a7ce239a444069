import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evaluateDataset, type EvaluateOptions, type StoredSample } from '../../../shared/evaluation/evaluator.js';
import { startServer, type StartedServer } from '../../fixtures/servers/start.js';
import { Bench } from './support.js';

/** Ids of a model whose vocabulary is padded beyond the tokenizer's. */
const MODEL_VOCABULARY = 640;

let bench: Bench;
let server: StartedServer;
beforeAll(async () => {
  bench = await Bench.start();
  const answer = bench.tokenizer.encode('\\boxed{47}');
  const padded = answer.flatMap((id, at) => [id, bench.tokenizer.vocabSize + at]);
  server = await startServer('eval-server.mjs', [
    JSON.stringify({ replies: [padded.slice(0, 7)], eos: bench.tokenizer.eosTokenIds[0] }),
  ]);
});
afterAll(async () => {
  await server.stop();
  await bench.stop();
});

async function evaluate(out: string, change: Partial<EvaluateOptions>): Promise<StoredSample[]> {
  const dataPath = await bench.writeData(2);
  const client = bench.client({ endpoint: server.address });
  const { samplesPath } = await evaluateDataset(
    bench.options(dataPath, out, { client, attemptsPerSample: 1, ...change })
  );
  return (await readFile(samplesPath, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StoredSample);
}

describe('ids that only pad a model’s vocabulary', () => {
  it.each(['recurrent', 'base'] as const)(
    'stand for no text in mode %s, as in the servers’ own detokenizers',
    async (mode) => {
      const samples = await evaluate(`padded-${mode}`, { modelVocabSize: MODEL_VOCABULARY, mode });
      const expected = bench.tokenizer.decode(bench.tokenizer.encode('\\boxed{47}').slice(0, 4));
      for (const sample of samples) {
        expect(sample.error).toBeUndefined();
        expect(sample.response).toBe(expected);
      }
    }
  );

  it('are errors where the model’s vocabulary is as large as the tokenizer’s, or not known', async () => {
    for (const change of [{}, { modelVocabSize: bench.tokenizer.vocabSize }]) {
      const samples = await evaluate(`strict-${Object.keys(change).length}`, change);
      for (const sample of samples)
        expect(sample.error).toMatch(
          /GenerationFailed: token id \d+ is outside the model’s vocabulary \(ids 0 to 511\)/
        );
    }
  });
});
