import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { entryPath } from '../../../shared/runtime/entry.js';
import { identify, isAlive, type ProcessIdentity } from './process-identity.js';

/** What an engine is started for. */
export interface EngineSpec {
  /** Folder of the lease and the log; one engine per folder. */
  engineDir: string;
  /** Hugging Face model folder. */
  modelDir: string;
  /** Frozen reference model of the KL term; actor only. */
  referenceDir?: string;
  mode: 'actor' | 'serve';
  /** Longest prompt plus response. Unit: tokens. */
  contextLength: number;
  /** Sequences decoded at once. Default 64. */
  maxBatch?: number;
}

export const LOG_FILE = 'engine.log';
const READY_MS = 60_000;
const KILL_AFTER_MS = 5_000;

export interface StartedEngine {
  child: ChildProcess;
  port: number;
  identity: ProcessIdentity;
}

/**
 * Starts an engine in a process group of its own. Its standard input is a pipe from this process: when this process ends, in
 * whatever way, the pipe closes and the engine goes down too.
 *
 * @throws PipelineError EngineUnavailable with the end of the log when it does not become ready
 */
export async function startEngine(spec: EngineSpec, signal?: AbortSignal): Promise<StartedEngine> {
  const logPath = join(spec.engineDir, LOG_FILE);
  const log = openSync(logPath, 'a');
  const args = { ...spec, port: 0, owner: identify(process.pid) };
  const child = spawn(
    process.execPath,
    ['--no-warnings', entryPath('engines/embedded/main.js'), JSON.stringify(args)],
    {
      detached: true,
      stdio: ['pipe', 'pipe', log],
    }
  );
  closeSync(log);
  // The worker may exit while the engine still runs: it must not be kept alive by it.
  child.unref();
  try {
    const port = await readyPort(child, logPath, signal);
    return { child, port, identity: identify(child.pid as number) };
  } catch (error) {
    await killGroup(child.pid);
    throw error;
  }
}

async function readyPort(child: ChildProcess, logPath: string, signal?: AbortSignal): Promise<number> {
  return await new Promise<number>((resolve, reject) => {
    const fail = (what: string): void => {
      reject(
        new PipelineError('EngineUnavailable', `the embedded engine ${what}; its log is ${logPath}`, { where: logPath })
      );
    };
    const timer = setTimeout(() => fail(`was not ready after ${READY_MS / 1000} s`), READY_MS);
    child.once('error', (error) => fail(`could not be started: ${error.message}`));
    child.once('exit', (code, by) => fail(`ended at start (${code === null ? `signal ${by}` : `exit code ${code}`})`));
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    const lines = createInterface({ input: child.stdout! });
    lines.once('line', (line) => {
      clearTimeout(timer);
      try {
        resolve((JSON.parse(line) as { port: number }).port);
      } catch {
        fail(`said ${JSON.stringify(line.slice(0, 200))} instead of its port`);
      }
    });
  });
}

/** Ends a process group: SIGTERM, then SIGKILL after 5 s. Returns when the leader is gone. */
export async function killGroup(pid: number | undefined, first: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (pid === undefined) return;
  const identity = identify(pid);
  signalGroup(pid, first);
  const deadline = Date.now() + KILL_AFTER_MS;
  while (isAlive(identity)) {
    if (Date.now() > deadline) signalGroup(pid, 'SIGKILL');
    await delay(20);
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone already.
  }
}
