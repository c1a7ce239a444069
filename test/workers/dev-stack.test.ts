import { execFileSync, spawn } from 'node:child_process';
import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PIPELINE_WORKFLOW_TYPE } from '../../shared/contracts/progress.js';
import { WORKFLOW_TASK_QUEUE } from '../../shared/contracts/queues.js';
import { entryPath } from '../../shared/runtime/entry.js';
import { runningStack, startDevStack, type DevStack } from '../../workers/dev-stack.js';
import { nextFreePort } from '../../shared/runtime/ports.js';
import { connectClient, isReachable, type TemporalTarget } from '../../workers/temporal-target.js';
import { until } from '../workflows/support.js';

/** Starting processes takes seconds on a busy machine; nothing here measures time. */
const LIMIT = 180_000;

let runsRoot: string;
let env: NodeJS.ProcessEnv;
let notices: string[];
let port: number;
const open: DevStack[] = [];

beforeEach(async () => {
  runsRoot = await mkdtemp(join(tmpdir(), 'memagent-stack-'));
  port = await nextFreePort(20_000 + Math.floor(Math.random() * 20_000));
  env = { ...process.env, TEMPORAL_ADDRESS: `127.0.0.1:${port}` };
  notices = [];
});
afterEach(async () => {
  for (const stack of open.splice(0)) await stack.stop();
  await rm(runsRoot, { recursive: true, force: true });
});

async function start(): Promise<DevStack> {
  const stack = await startDevStack({ runsRoot, env, notice: (text) => void notices.push(text) });
  open.push(stack);
  return stack;
}

/** Runs a pipeline that ends at once, because its argument is no recipe: it needs the server and the worker. */
async function runPipeline(target: TemporalTarget, workflowId: string): Promise<string> {
  const { client, close } = await connectClient(target);
  try {
    const handle = await client.workflow.start(PIPELINE_WORKFLOW_TYPE, {
      taskQueue: WORKFLOW_TASK_QUEUE,
      workflowId,
      args: [{ name: 'nothing' }],
    });
    await handle.result().catch(() => undefined);
    return (await handle.describe()).status.name;
  } finally {
    await close();
  }
}

/** Process ids whose command line has all of these texts. */
function processes(...texts: string[]): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,args=']).toString().split('\n');
  return lines
    .filter((line) => texts.every((text) => line.includes(text)) && !line.includes('memagent-guard'))
    .map((line) => Number(line.trim().split(' ')[0]));
}

const serverProcesses = (): number[] => processes('server start-dev', `--port ${port} `);

function workerProcesses(): number[] {
  return processes('cli/main.js worker').filter((pid) =>
    environmentOf(pid).includes(`TEMPORAL_ADDRESS=127.0.0.1:${port}`)
  );
}

function environmentOf(pid: number): string[] {
  try {
    return execFileSync('cat', [`/proc/${pid}/environ`], { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .split('\0');
  } catch {
    return [];
  }
}

describe('the development stack', () => {
  it(
    'runs workflows, leaves nothing behind when stopped, and has the old runs when started again',
    async () => {
      const first = await start();
      expect(first.ownsServer).toBe(true);
      expect(await runningStack(runsRoot)).toMatchObject({ owner: { pid: process.pid }, address: `127.0.0.1:${port}` });
      expect(await runPipeline(first.target, 'run-1')).toBe('FAILED');
      await first.stop();
      expect(serverProcesses()).toEqual([]);
      expect(workerProcesses()).toEqual([]);
      expect(await runningStack(runsRoot)).toBeUndefined();

      const second = await start();
      const { client, close } = await connectClient(second.target);
      expect((await client.workflow.getHandle('run-1').describe()).status.name).toBe('FAILED');
      await close();
    },
    LIMIT
  );

  it(
    'starts a killed worker and a killed server again, and goes on',
    async () => {
      const { target } = await start();
      expect(await runPipeline(target, 'before')).toBe('FAILED');
      const [worker] = workerProcesses();
      const [server] = serverProcesses();
      process.kill(worker ?? 0, 'SIGKILL');
      process.kill(server ?? 0, 'SIGKILL');
      await until(
        () => notices.filter((notice) => notice.includes('started again')).length >= 2,
        'both restarts',
        60_000
      );
      await until(() => isReachable(target), 'the server answers again', 60_000);
      expect(await runPipeline(target, 'after')).toBe('FAILED');
      expect(workerProcesses()).not.toContain(worker);
      expect(notices.join('\n')).toMatch(/the worker ended with code 137 \(log: .*worker\.log\)/);
    },
    LIMIT
  );

  it(
    'starts at once again after its owner was killed, on the same database',
    async () => {
      const program = `
        const { startDevStack } = await import(${JSON.stringify(entryPath('workers/dev-stack.js'))});
        await startDevStack({ runsRoot: ${JSON.stringify(runsRoot)}, notice: () => undefined });
        console.log('up');
        setInterval(() => undefined, 1000);`;
      const owner = spawn(process.execPath, ['--input-type=module', '-e', program], {
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(owner.stdout, 'data');
      // The worker is started by its guard, a moment later.
      await until(() => workerProcesses().length === 1, 'the worker runs', 60_000);
      const left = [...serverProcesses(), ...workerProcesses()];
      expect(left).toHaveLength(2);
      const ended = once(owner, 'exit');
      owner.kill('SIGKILL');
      // A killed process may still be alive when `kill` returns.
      await ended;
      const stack = await start();
      expect(stack.ownsServer).toBe(true);
      expect(await runPipeline(stack.target, 'after the crash')).toBe('FAILED');
      for (const pid of [...serverProcesses(), ...workerProcesses()]) expect(left).not.toContain(pid);
    },
    LIMIT
  );

  it(
    'refuses a second stack for the same folder and says how to use the first',
    async () => {
      await start();
      await expect(start()).rejects.toMatchObject({
        message: expect.stringContaining(`runs already (process ${process.pid}`) as string,
        cure: expect.stringContaining(`TEMPORAL_ADDRESS=127.0.0.1:${port}`) as string,
      });
    },
    LIMIT
  );

  it(
    'uses a server that answers already, and leaves it running',
    async () => {
      const first = await start();
      const other = await mkdtemp(join(tmpdir(), 'memagent-stack-'));
      try {
        const second = await startDevStack({ runsRoot: other, env, notice: (text) => void notices.push(text) });
        expect(second.ownsServer).toBe(false);
        expect(second.uiUrl).toBe(first.uiUrl);
        await until(() => workerProcesses().length === 2, 'both workers run', 60_000);
        await second.stop();
      } finally {
        await rm(other, { recursive: true, force: true });
      }
      expect(await isReachable(first.target)).toBe(true);
    },
    LIMIT
  );

  it(
    'names the port when another program has it',
    async () => {
      const stranger: Server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
      await once(stranger, 'listening');
      try {
        await expect(start()).rejects.toMatchObject({
          message: `port ${port} is in use by a program that is not a Temporal server`,
          cure: expect.stringContaining('TEMPORAL_ADDRESS') as string,
        });
      } finally {
        stranger.close();
      }
    },
    LIMIT
  );

  it(
    'does not try to start a server on another machine',
    async () => {
      env['TEMPORAL_ADDRESS'] = '192.0.2.1:7233';
      await expect(start()).rejects.toThrow(/no Temporal server answers at 192\.0\.2\.1:7233/);
    },
    LIMIT
  );

  it(
    'shows the end of the server’s log when its database is damaged',
    async () => {
      const stack = await start();
      await stack.stop();
      const { writeFile } = await import('node:fs/promises');
      await writeFile(join(runsRoot, '.temporal', 'temporal.db'), 'this is not a database'.repeat(500));
      await expect(start()).rejects.toMatchObject({
        message: expect.stringMatching(/the Temporal development server ended with code 1: .*not a database/) as string,
        cure: expect.stringContaining('temporal.db') as string,
      });
      expect(await readFile(join(runsRoot, '.temporal', 'server.log'), 'utf8')).toContain('not a database');
      expect(serverProcesses()).toEqual([]);
    },
    LIMIT
  );
});
