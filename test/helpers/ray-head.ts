import { randomUUID } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { request } from 'undici';
import { packageRoot } from '../../shared/runtime/entry.js';
import { withFileLock } from '../../shared/temporal-binary/file-lock.js';
import { memagentHome } from '../../shared/temporal-binary/home.js';
import { lastLines, runProgram } from '../../shared/temporal-binary/run-program.js';
import { until } from '../workflows/support.js';

const RAY = 'ray[default]==2.49.2';
const INSTALL_LIMIT_MS = 10 * 60_000;
const START_LIMIT_MS = 180_000;
/** Ray's shared memory for objects: jobs of the tests keep none. Unit: bytes. */
const OBJECT_STORE = 80_000_000;

/**
 * Folder of a Python environment with Ray: `MEMAGENT_RAY_VENV`, else one under the product's own home, made once.
 *
 * @returns why there is none, where there is no Python
 */
export async function rayEnvironment(): Promise<{ venv: string } | { missing: string }> {
  const named = process.env['MEMAGENT_RAY_VENV'];
  if (named !== undefined && named !== '') return { venv: named };
  const version = await runProgram('python3', ['--version'], { timeoutMs: 60_000 });
  if (version.code !== 0) return { missing: 'there is no python3 on PATH' };
  const venv = join(memagentHome(), 'ray-2.49.2');
  await mkdir(memagentHome(), { recursive: true });
  await withFileLock(`${venv}.lock`, INSTALL_LIMIT_MS, async () => {
    if (existsSync(join(venv, 'complete'))) return;
    await run('python3', ['-m', 'venv', '--clear', venv]);
    await run(join(venv, 'bin/python'), ['-m', 'pip', 'install', '--no-input', '--quiet', RAY]);
    await run('touch', [join(venv, 'complete')]);
  });
  return { venv };
}

async function run(command: string, args: string[]): Promise<void> {
  const result = await runProgram(command, args, { timeoutMs: INSTALL_LIMIT_MS });
  if (result.code !== 0) throw new Error(`${command} ${args.join(' ')}: ${result.error ?? lastLines(result.output)}`);
}

/** A real Ray cluster of one node. */
export interface RayHead {
  address: string;
  python: string;
  /** Kills every process of the cluster at once, as a host does that loses power. */
  kill(): Promise<void>;
  /** Starts a new cluster at the same address, after `kill`. */
  restart(): Promise<void>;
  /** Ends the cluster and removes its files. */
  stop(): Promise<void>;
}

/**
 * Starts a head on free ports, with its own folder and process group; nothing of another cluster is touched.
 *
 * @param gpus what Ray believes that it has; no device is needed for it
 */
export async function startRayHead(venv: string, gpus = 0): Promise<RayHead> {
  // Short: the sockets in it have paths of at most 107 bytes.
  const folder = mkdtempSync('/tmp/mr-');
  const ports: Ports = { gcs: await freePort(), dashboard: await freePort(), agent: await freePort() };
  const address = `http://127.0.0.1:${ports.dashboard}`;
  let group: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    // Ray gives its dashboard 20 s; on a machine that is busy with other tests that may be too short once.
    for (let tries = 1; ; tries += 1) {
      group = spawnHead(venv, folder, ports, gpus);
      await until(() => group?.exitCode !== null || takesJobs(address), 'the Ray head answers', START_LIMIT_MS);
      if (group.exitCode === null) return;
      await kill();
      if (tries === 3)
        throw new Error(`ray start failed: ${readFileSync(join(folder, 'head.log'), 'utf8').slice(-4000)}`);
    }
  };
  const kill = async (): Promise<void> => {
    if (group?.pid === undefined) return;
    const session = group.pid;
    for (let pids = membersOf(session, folder); pids.length > 0; pids = membersOf(session, folder)) {
      for (const pid of pids) signalQuietly(pid);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    if (group.exitCode === null && group.signalCode === null) await once(group, 'exit');
  };
  try {
    await start();
  } catch (error) {
    await kill();
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    address,
    python: join(venv, 'bin/python'),
    kill,
    restart: start,
    stop: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Ports {
  gcs: number;
  dashboard: number;
  agent: number;
}

function spawnHead(venv: string, folder: string, ports: Ports, gpus: number): ChildProcess {
  const log = openSync(join(folder, 'head.log'), 'a');
  const options: Record<string, string | number> = {
    '--port': ports.gcs,
    '--dashboard-port': ports.dashboard,
    '--dashboard-host': '127.0.0.1',
    '--node-ip-address': '127.0.0.1',
    '--num-cpus': 2,
    '--num-gpus': gpus,
    '--include-dashboard': 'true',
    '--temp-dir': join(folder, 't'),
    '--object-store-memory': OBJECT_STORE,
    '--dashboard-agent-listen-port': ports.agent,
    '--min-worker-port': 0,
    '--max-worker-port': 0,
  };
  const args = ['start', '--head', '--block', '--disable-usage-stats', ...Object.entries(options).flat().map(String)];
  const program = join(packageRoot(), 'test/helpers/ray_head.py');
  return spawn(join(venv, 'bin/python'), [program, ...args], {
    detached: true,
    stdio: ['ignore', log, log],
    // PYTHONPATH and the like of whoever runs the tests must not reach the cluster; nor the address of another one.
    env: {
      PATH: `${join(venv, 'bin')}:${process.env['PATH'] ?? ''}`,
      HOME: process.env['HOME'] ?? folder,
      LANG: 'C.UTF-8',
    },
  });
}

/** The head's session, and processes that name its folder: drivers of jobs have sessions of their own. */
function membersOf(session: number, folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        if (fields[0] === 'Z') return false;
        if (Number(fields[3]) === session) return true;
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(folder);
      } catch {
        return false;
      }
    });
}

function signalQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone meanwhile.
  }
}

/** The dashboard, and the agent behind it that takes jobs: that one is up only when it took one. */
async function takesJobs(address: string): Promise<boolean> {
  try {
    const reply = await request(`${address}/api/jobs/`, {
      method: 'POST',
      headers: { 'user-agent': 'tests/1', 'content-type': 'application/json' },
      body: JSON.stringify({ entrypoint: 'true', submission_id: `ready-${randomUUID()}` }),
      headersTimeout: 30_000,
    });
    await reply.body.dump();
    return reply.statusCode === 200;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
