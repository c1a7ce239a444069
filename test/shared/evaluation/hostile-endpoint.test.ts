import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evaluateDataset, type StoredSample } from '../../../shared/evaluation/evaluator.js';
import type { InferenceClientOptions } from '../../../shared/inference/types.js';
import { startServer, type StartedServer } from '../../fixtures/servers/start.js';
import { Bench } from './support.js';

let bench: Bench;
let server: StartedServer;
let dataPath: string;
beforeAll(async () => {
  bench = await Bench.start();
  server = await startServer('fault-server.mjs');
  dataPath = await bench.writeData(2);
});
afterAll(async () => {
  await server.stop();
  await bench.stop();
});

async function evaluate(protocol: 'sglang' | 'openai', fault: string, options: Partial<InferenceClientOptions> = {}) {
  const client = bench.client({
    protocol,
    endpoint: `${server.address}/${fault}~evaluation-${protocol}`,
    vocabSize: bench.tokenizer.vocabSize,
    maxBodyBytes: 16 * 1024 * 1024,
    timeoutMs: 20_000,
    ...options,
  });
  const outcome = await evaluateDataset(
    bench.options(dataPath, `${protocol}-${fault}`, { client, attemptsPerSample: 1 })
  );
  const lines = (await readFile(outcome.samplesPath, 'utf8')).trimEnd().split('\n');
  return { summary: outcome.summary, lines, samples: lines.map((line) => JSON.parse(line) as StoredSample) };
}

/** Attack and words of the sample's error. */
const ATTACKS: [string, RegExp][] = [
  ['fewer-ids-than-counted', /GenerationFailed: .*completion tokens/],
  ['id-out-of-vocabulary', /GenerationFailed: .*outside the vocabulary/],
  ['negative-id', /GenerationFailed: .*not a token id/],
  ['unknown-finish-reason', /GenerationFailed: .*finish reason/],
  ['wrong-content-type', /GenerationFailed: .*content type/],
  ['nan-log-prob', /GenerationFailed: .*NaN/],
  ['endless-body', /GenerationFailed: .*longer than/],
  ['gzip-bomb', /GenerationFailed: .*compressed/],
  ['redirect', /GenerationFailed: .*redirect/],
  ['always-500', /EngineUnavailable: .*\\u\{1b\}\[31mout of memory/],
  ['always-cut', /EngineUnavailable: .*broke off/],
];

describe('a server that lies', () => {
  it.each(ATTACKS)('%s: every sample has its own named error and zeros: %s', async (attack, words) => {
    const { summary, samples } = await evaluate('sglang', attack);
    expect(summary).toMatchObject({ total: 2, successful: 0, errors: 2, sub_em_pct: 0, boxed_em_pct: 0 });
    for (const sample of samples) {
      expect(sample.error).toMatch(words);
      expect(sample).toMatchObject({ response: '', pred: '', judge_boxed_em: 0 });
    }
  });

  it.each(['slow-bytes', 'silent'])('%s: ends at the time limit of a request', async (attack) => {
    const { samples } = await evaluate('sglang', attack, { timeoutMs: 150 });
    for (const sample of samples) expect(sample.error).toMatch(/EngineUnavailable: .*no complete answer within 150 ms/);
  });

  it('a text of 10 MB that its counts cannot explain is that sample’s error', async () => {
    const { samples } = await evaluate('openai', 'text-of-10-mb');
    for (const sample of samples) expect(sample.error).toMatch(/10000000 characters cannot be made of 7 tokens/);
  });
});

describe('a model output of script, escape codes and controls', () => {
  it('is data: kept as it came, one line a sample, scored as a miss', async () => {
    const { summary, lines, samples } = await evaluate('openai', 'hostile-text');
    expect(summary).toMatchObject({ total: 2, successful: 2, errors: 0, sub_em: 0 });
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      // What could end a line, drive a terminal or is not Unicode never stands in the file as it is.
      expect(line).not.toMatch(/[\u0000-\u001f\ud800-\udfff]/);
    }
    expect(samples[0]?.response).toContain('</script><img src=x onerror=alert(1)>\u001b[31m\u2028');
    expect(samples[0]?.memories[0]).toContain('</script>');
  });

  it('leaves the summary free of it', async () => {
    await evaluate('openai', 'hostile-text');
    const summary = await readFile(join(bench.folder, 'openai-hostile-text', 'm.summary.json'), 'utf8');
    expect(summary).not.toContain('script');
  });
});
