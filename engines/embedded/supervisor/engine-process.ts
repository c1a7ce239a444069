import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { storageError } from '../../../shared/artifacts/atomic-file.js';
import { isFailureType } from '../../../shared/contracts/failures.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { entryPath } from '../../../shared/runtime/entry.js';
import { identify } from '../../../shared/runtime/process-identity.js';
import { killGroup } from '../../supervision/kill-group.js';
import { LOG_FILE, type StartedProcess } from '../../supervision/leased-process.js';
import type { KernelKind } from '../policy-api.js';

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
  /** Default `MEMAGENT_ENGINE_KERNELS`, else plain SIMD where the machine has it. Other kernels give other bits. */
  kernels?: KernelKind;
  /** Threads that train and generate. Default `MEMAGENT_ENGINE_THREADS`, else 1. Never changes a bit. */
  threads?: 1 | 2;
}

/** Completes a specification by what the environment says; what the engine does not take, it refuses at its start. */
export function withEnvironment(spec: EngineSpec, env: NodeJS.ProcessEnv = process.env): EngineSpec {
  const { MEMAGENT_ENGINE_KERNELS: kernels, MEMAGENT_ENGINE_THREADS: threads } = env;
  return {
    ...(kernels ? { kernels: kernels as KernelKind } : {}),
    ...(threads ? { threads: Number(threads) as 1 | 2 } : {}),
    ...spec,
  };
}

const READY_MS = 60_000;

type Child = ChildProcessByStdio<Writable, Readable, null>;

/**
 * Starts an engine in a process group of its own. Its standard input is a pipe from this process: when this process ends, in
 * whatever way, the pipe closes and the engine goes down too.
 *
 * @throws PipelineError of the engine's own type when it says why it cannot start (e.g. CheckpointInvalid), else
 *   EngineUnavailable naming the log
 */
export async function startEngine(spec: EngineSpec, signal?: AbortSignal): Promise<StartedProcess> {
  signal?.throwIfAborted();
  const logPath = join(spec.engineDir, LOG_FILE);
  const child = spawnEngine(spec, logPath);
  try {
    const port = await readyPort(child, logPath, signal);
    return { port, identity: identify(child.pid as number) };
  } catch (error) {
    if (child.pid !== undefined) await killGroup(identify(child.pid));
    throw error;
  } finally {
    // The worker must be able to end while the engine runs: nothing here may keep its event loop busy.
    child.unref();
    (child.stdin as Socket).unref();
    child.stdout.destroy();
  }
}

function spawnEngine(spec: EngineSpec, logPath: string): Child {
  const { engineDir: _, ...options } = spec;
  const args = JSON.stringify({ ...options, port: 0, owner: identify(process.pid) });
  let log: number;
  try {
    log = openSync(logPath, 'a');
  } catch (error) {
    throw storageError(logPath, error);
  }
  try {
    return spawn(process.execPath, [entryPath('engines/embedded/main.js'), args], {
      detached: true,
      stdio: ['pipe', 'pipe', log],
    }) as Child;
  } finally {
    closeSync(log);
  }
}

/** Reads the engine's one line: its port, or why it cannot start. */
function readyPort(child: Child, logPath: string, signal?: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      child.removeAllListeners('exit');
      finish();
    };
    const fail = (what: string): void => settle(() => reject(unavailable(`the embedded engine ${what}`, logPath)));
    const onAbort = (): void => settle(() => reject(signal?.reason as Error));
    const timer = setTimeout(() => fail(`was not ready after ${READY_MS / 1000} s`), READY_MS);
    signal?.addEventListener('abort', onAbort, { once: true });
    child.once('error', (error) => fail(`could not be started: ${error.message}`));
    // The line may still be in the pipe when the process is already gone.
    child.once('close', (code, by) => fail(`ended at start (${code === null ? `signal ${by}` : `exit code ${code}`})`));
    child.stdin.on('error', () => undefined);
    createInterface({ input: child.stdout }).once('line', (line) => {
      const said = parseLine(line);
      if (said.port !== undefined) settle(() => resolve(said.port as number));
      else if (said.error === undefined) fail(`said ${JSON.stringify(line.slice(0, 200))} instead of its port`);
      else settle(() => reject(startError(said.error as StartFailure, logPath)));
    });
  });
}

interface StartFailure {
  type?: string;
  message?: string;
}

function parseLine(line: string): { port?: number; error?: StartFailure } {
  try {
    return JSON.parse(line) as { port?: number; error?: StartFailure };
  } catch {
    return {};
  }
}

function startError({ type, message }: StartFailure, logPath: string): PipelineError {
  if (isFailureType(type) && type !== 'EngineUnavailable')
    return new PipelineError(type, message ?? '', { where: logPath });
  return unavailable(`the embedded engine could not start: ${message}`, logPath);
}

function unavailable(what: string, logPath: string): PipelineError {
  return new PipelineError('EngineUnavailable', `${what}; its log is ${logPath}`, { where: logPath });
}
