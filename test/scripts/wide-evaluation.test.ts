import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { wideText } from '../../scripts/wide/report.js';
import { wideEvaluation } from '../../scripts/wide/run.js';
import { entryPath, packageRoot } from '../../shared/runtime/entry.js';
import { nextFreePort } from '../../shared/runtime/ports.js';

let folder: string;
let server: ChildProcess;
let endpoint: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-wide-test-'));
  const port = await nextFreePort(18_950);
  // Responses of four printable characters.
  const started = spawn(process.execPath, [entryPath('scripts/wide/null-server.js'), String(port), '4', '80'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  server = started;
  endpoint = `http://127.0.0.1:${port}`;
  await once(createInterface({ input: started.stdout }), 'line');
});
afterAll(async () => {
  server.kill();
  await rm(folder, { recursive: true });
});

it('an evaluation that is killed in the middle and goes on has every sample once, and the table says so', async () => {
  const facts = await wideEvaluation({
    folder,
    endpoint,
    tokenizer: join(packageRoot(), 'models/laptop'),
    samples: 200,
    chunks: 3,
    chunkTokens: 24,
    responseTokens: 4,
    concurrency: 4,
    say: () => undefined,
    reference: async () => ({ turns: 800, seconds: 10, cpuSeconds: 10 }),
  });
  // How late the event loop is depends on what else this machine does.
  expect(facts.problems.filter((problem) => !problem.includes('event loop'))).toEqual([]);
  expect(facts.kept).toBeGreaterThanOrEqual(100);
  expect(facts.processes[1]?.end).toEqual({ resumed: facts.kept, errors: 0 });
  expect(facts.ours.turns).toBe(200 * 4 + facts.requestsAgain);
  const text = wideText({ ...facts, problems: [] });
  expect(text).toContain('200 samples × 3 chunks, concurrency 4: all holds');
  expect(text).toMatch(/ratio \| [\d.]+ × by wall time, [\d.]+ × by CPU time/);
  expect(wideText({ ...facts, problems: ['sample 7 is lost'] })).toMatch(/NOT all holds[\s\S]*sample 7 is lost/);
}, 120_000);
