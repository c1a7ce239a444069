import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { entryPath } from '../../../shared/runtime/entry.js';
import { Bench, LIMITS } from './support.js';

// Processes are started again and again: much slower than usual where other work has the cores.
vi.setConfig({ testTimeout: 180_000 });

const PROGRAM = fileURLToPath(new URL('../../fixtures/evaluate.mjs', import.meta.url));
const DIST = dirname(dirname(dirname(entryPath('shared/evaluation/evaluator.js'))));

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start({ latencyMs: 2 });
});
afterAll(() => bench.stop());

function start(dataPath: string, out: string) {
  const options = {
    endpoint: bench.server.address,
    tokenizer: bench.tokenizer.directory,
    dataPath,
    dataName: 'data.jsonl',
    samplesPath: join(bench.folder, out, 'm.jsonl'),
    summaryPath: join(bench.folder, out, 'm.summary.json'),
    modelName: 'm',
    tokenizerName: 'laptop',
    limits: LIMITS,
    enableThinking: null,
    temperature: 1,
    topP: 1,
    concurrency: 8,
  };
  return spawn(process.execPath, [PROGRAM, DIST, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function finish(dataPath: string, out: string): Promise<{ resumed: number; errors: number }> {
  const child = start(dataPath, out);
  return JSON.parse(await text(child.stdout)) as { resumed: number; errors: number };
}

function read(out: string, name: string): Promise<string> {
  return readFile(join(bench.folder, out, name), 'utf8');
}

async function doneLines(out: string): Promise<number> {
  const working = await read(out, 'm.jsonl.working').catch(() => '');
  return Math.max(0, working.split('\n').length - 2);
}

it('a process killed again and again ends with the same bytes, and asks for no finished sample twice', async () => {
  const dataPath = await bench.writeData(120);
  await finish(dataPath, 'calm');
  const calm = (await bench.control()).asked;
  for (const target of [1, 30, 31, 77]) {
    const before = await doneLines('killed');
    const child = start(dataPath, 'killed');
    await expect.poll(() => doneLines('killed'), { interval: 5, timeout: 30_000 }).toBeGreaterThanOrEqual(target);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await doneLines('killed')).toBeGreaterThanOrEqual(before);
  }
  const kept = await doneLines('killed');
  const last = await finish(dataPath, 'killed');
  expect(last).toMatchObject({ resumed: kept, errors: 0 });
  expect(await read('killed', 'm.jsonl')).toBe(await read('calm', 'm.jsonl'));
  expect(await read('killed', 'm.summary.json')).toBe(await read('calm', 'm.summary.json'));
  // Every kill costs at most the samples that were in flight: 8 of them.
  const { asked } = await bench.control();
  const again = Object.keys(asked).filter((sample) => (asked[sample] as number) > (calm[sample] as number) * 2);
  expect(again.length).toBeLessThanOrEqual(4 * 8);
});
