/**
 * `make wide BENCH=folder TOKENIZER=folder`: evaluates 3,200 samples of 64 chunks against a server without latency, killed in
 * the middle and resumed, and measures memory, event-loop delay and throughput beside the yardstick's Python client on the
 * same server (`reference_client.py`). Ends with 1 when a limit is passed or a sample was evaluated twice or lost.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { lastLines, runProgram } from '../shared/temporal-binary/run-program.js';
import { nextFreePort } from '../shared/runtime/ports.js';
import { entryPath } from '../shared/runtime/entry.js';
import { pythonWith } from './python-env.js';
import { wideText } from './wide/report.js';
import { wideEvaluation } from './wide/run.js';
import type { TurnRate } from './wide/types.js';

const { values } = parseArgs({
  options: {
    bench: { type: 'string', default: '../shared/bench' },
    tokenizer: { type: 'string' },
    samples: { type: 'string', default: '3200' },
    chunks: { type: 'string', default: '64' },
    'chunk-tokens': { type: 'string', default: '2048' },
    'response-tokens': { type: 'string', default: '1024' },
    concurrency: { type: 'string', default: '16' },
    'reference-trajectories': { type: 'string', default: '32' },
    json: { type: 'boolean', default: false },
  },
});

const PORT = 18_900;
const REFERENCE_LIMIT_MS = 60 * 60_000;
const REFERENCE = { folder: 'python-yardstick', packages: ['tokenizers==0.22.2', 'aiohttp==3.13.3'] };

async function startServer(port: number): Promise<ChildProcess> {
  const args = [entryPath('scripts/wide/null-server.js'), String(port), values['response-tokens']];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const said = createInterface({ input: server.stdout });
  await Promise.race([
    once(said, 'line'),
    once(server, 'exit').then(() => Promise.reject(new Error('the server without latency did not start'))),
  ]);
  return server;
}

/** The yardstick's client with the same limits and as many trajectories at once. */
async function measureReference(endpoint: string, tokenizer: string): Promise<TurnRate> {
  const python = await pythonWith(['tokenizers', 'aiohttp'], say, REFERENCE);
  const settings = {
    tokenizer: join(tokenizer, 'tokenizer.json'),
    url: `${endpoint}/generate`,
    trajectories: values['reference-trajectories'],
    chunks: values.chunks,
    'chunk-tokens': values['chunk-tokens'],
    'memory-tokens': values['response-tokens'],
    'final-tokens': values['response-tokens'],
    concurrency: values.concurrency,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const program = join(values.bench, 'reference_client.py');
  const { code, output } = await runProgram(python, [program, ...args], { timeoutMs: REFERENCE_LIMIT_MS });
  if (code !== 0) throw new Error(`the yardstick’s client failed: ${lastLines(output)}`);
  const { turns, wall_s: seconds, cpu_s: cpuSeconds } = JSON.parse(lastLines(output, 1)) as Record<string, number>;
  return { turns: turns ?? 0, seconds: seconds ?? 0, cpuSeconds: cpuSeconds ?? 0 };
}

function say(text: string): void {
  console.error(text);
}

async function main(tokenizer: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'memagent-wide-'));
  const port = await nextFreePort(PORT);
  const endpoint = `http://127.0.0.1:${port}`;
  const server = await startServer(port);
  try {
    const facts = await wideEvaluation({
      folder,
      endpoint,
      tokenizer,
      samples: Number(values.samples),
      chunks: Number(values.chunks),
      chunkTokens: Number(values['chunk-tokens']),
      responseTokens: Number(values['response-tokens']),
      concurrency: Number(values.concurrency),
      say,
      ...(Number(values['reference-trajectories']) > 0
        ? { reference: () => measureReference(endpoint, tokenizer) }
        : {}),
    });
    console.log(values.json ? JSON.stringify(facts) : wideText(facts));
    return facts.problems.length === 0 ? 0 : 1;
  } finally {
    server.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

if (values.tokenizer === undefined) {
  console.error('give the folder of a tokenizer: make wide TOKENIZER=/models/Qwen3-4B');
  process.exitCode = 2;
} else process.exitCode = await main(values.tokenizer);
