import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { countPollers } from '../../cli/pollers.js';
import { entryPath } from '../../shared/runtime/entry.js';
import { nextFreePort } from '../../shared/runtime/ports.js';
import { connectClient, localTarget, type TemporalClient } from '../../workers/temporal-target.js';
import { localEnvironment } from '../helpers/temporal-server.js';
import { until } from '../workflows/support.js';

const LIMIT = 180_000;
vi.setConfig({ testTimeout: LIMIT });

let environment: TestWorkflowEnvironment;
let client: TemporalClient;
let address: string;
const children: ChildProcess[] = [];
beforeAll(async () => {
  environment = await localEnvironment();
  address = environment.connection.options.address;
  client = await connectClient(localTarget(address, 'default'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(async () => {
  await client.close();
  await environment.teardown();
});

interface RunningWorker {
  child: ChildProcess;
  log(): string;
  ended: Promise<unknown[]>;
}

function start(...args: string[]): RunningWorker {
  const env = { ...process.env, TEMPORAL_ADDRESS: address, HF_TOKEN: 'hf_secret_of_the_test' };
  const child = spawn(process.execPath, [entryPath('cli/main.js'), 'worker', ...args], { env });
  children.push(child);
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => (log += data.toString()));
  return { child, log: () => log, ended: once(child, 'close') };
}

const polls = async (queue: string): Promise<boolean> => (await countPollers(client, queue, 'activity')) > 0;

describe('a worker process', () => {
  it('polls the queues of its roles and tag and no other, and gives up cleanly on SIGTERM with code 0', async () => {
    const worker = start('--role', 'train', '--role', 'convert', '--tag', 'h100x8');
    await until(async () => (await polls('train@h100x8')) && (await polls('convert@h100x8')), 'both are polled', LIMIT);
    for (const other of ['data@h100x8', 'train@local', 'memagent']) expect(await polls(other)).toBe(false);
    expect(worker.log()).toMatch(/"queues":\["train@h100x8 ×1","convert@h100x8 ×1"\].*worker started/);
    worker.child.kill('SIGTERM');
    expect((await worker.ended)[0]).toBe(0);
    expect(worker.log()).toContain('worker stopped');
  });

  it('ends with 130 on Ctrl-C', async () => {
    const worker = start('--role', 'data', '--tag', 'ctrl-c');
    await until(() => polls('data@ctrl-c'), 'the queue is polled', LIMIT);
    worker.child.kill('SIGINT');
    expect((await worker.ended)[0]).toBe(130);
  });

  it('serves Prometheus metrics where asked to', async () => {
    const port = await nextFreePort(19_000);
    const worker = start('--role', 'data', '--tag', 'metered', '--metrics', `127.0.0.1:${port}`);
    await until(() => polls('data@metered'), 'the queue is polled', LIMIT);
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(text).toContain('temporal_');
    worker.child.kill('SIGTERM');
    await worker.ended;
  });

  it('refuses what it cannot serve before it connects', async () => {
    const worker = start('--role', 'training');
    expect((await worker.ended)[0]).toBe(2);
    expect(worker.log()).toMatch(
      /^error: unknown role "training"; did you mean “train”\?\nfix: Roles are workflow, data/
    );
  });
});
