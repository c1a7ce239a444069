import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { evaluateDataset } from '../../../shared/evaluation/evaluator.js';
import { Bench } from './support.js';

let bench: Bench;
let server: Server;
let data: string;
const prompts: number[][] = [];

beforeAll(async () => {
  bench = await Bench.start();
  // Keeps the prompts, which is what a cut shows in.
  server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(404).end();
      const { input_ids: ids } = JSON.parse(Buffer.concat(pieces).toString('utf8')) as { input_ids: number[] };
      prompts.push(ids);
      const meta = { finish_reason: { type: 'stop' }, prompt_tokens: ids.length, completion_tokens: 1 };
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end(JSON.stringify({ text: '', output_ids: [bench.tokenizer.eosTokenIds[0]], meta_info: meta }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  data = join(bench.folder, 'long.json');
  const context = Array.from({ length: 200 }, (_, i) => `amber=${i % 100};`).join('\n');
  await writeFile(
    data,
    JSON.stringify([{ input: 'violet=', answers: ['1'], context: `first=1;\n${context}\nlast=99;` }])
  );
});
afterAll(async () => {
  server.close();
  await bench.stop();
});

async function evaluate(cut: 'end' | 'middle', maxInputTokens: number) {
  prompts.length = 0;
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options = bench.options(data, `cut-${cut}-${maxInputTokens}`, {
    client: bench.client({ endpoint }),
    mode: 'base',
    contextCut: cut,
    maxInputTokens,
  });
  const { summary } = await evaluateDataset(options);
  return { summary, text: bench.tokenizer.decode(prompts[0] ?? []), tokens: prompts[0]?.length ?? 0 };
}

it('mode base leaves out the end of a context, or its middle, and never the question', async () => {
  const end = await evaluate('end', 150);
  const middle = await evaluate('middle', 150);
  for (const { summary, text } of [end, middle]) {
    expect(text).toContain('first=1;');
    expect(text).toContain('Question: violet=\nPlease answer the question and put the answer in \\boxed{}.');
    expect(summary).toMatchObject({ mode: 'base', contexts_truncated: 1, max_input_tokens: 150 });
  }
  expect(end.text).not.toContain('last=99;');
  expect(middle.text).toContain('last=99;');
  expect(end.summary.context_cut).toBe('end');
  expect(middle.summary.context_cut).toBe('middle');
  expect(middle.summary.settings_sha256).not.toBe(end.summary.settings_sha256);
});

it('mode base reads as much as fits: one token less of room is one token less of context', async () => {
  const reads: number[] = [];
  for (const room of [149, 150, 151]) reads.push((await evaluate('middle', room)).summary.tokens_read);
  expect(new Set(reads).size).toBe(3);
  expect(Math.max(...reads) - Math.min(...reads)).toBeLessThanOrEqual(4);
});

it('a context that fits is not cut, whichever part would be left out', async () => {
  const whole = await evaluate('middle', 1016);
  expect(whole.summary).toMatchObject({ contexts_truncated: 0 });
  expect(whole.summary.tokens_read).toBe(whole.summary.context_tokens);
});
