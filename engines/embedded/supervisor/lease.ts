import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { storageError, writeFileAtomic } from '../../../shared/artifacts/atomic-file.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { identify, isAlive, type ProcessIdentity } from './process-identity.js';

/** Who runs an engine and where it listens: `engine.json` in the engine's folder. */
export interface EngineLease {
  host: string;
  engine: ProcessIdentity;
  owner: ProcessIdentity;
  port: number;
  /** Grows with every engine started in this folder. */
  token: number;
  /** Hash of the specification the engine was started with. */
  specHash: string;
}

const LEASE_FILE = 'engine.json';
const LOCK_FILE = 'engine.lock';
const LOCK_POLL_MS = 25;

export async function readLease(folder: string): Promise<EngineLease | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, LEASE_FILE), 'utf8')) as EngineLease;
  } catch {
    // Missing or torn: nobody holds it.
    return undefined;
  }
}

export async function writeLease(folder: string, lease: EngineLease): Promise<void> {
  await writeFileAtomic(join(folder, LEASE_FILE), `${JSON.stringify(lease)}\n`);
}

export async function removeLease(folder: string): Promise<void> {
  await rm(join(folder, LEASE_FILE), { force: true });
}

/** Whether the leased engine runs on this host. A lease of another host is never touched. */
export function isHere(lease: EngineLease): boolean {
  return lease.host === hostname();
}

/**
 * Runs `body` while this process alone may start or stop the engine of a folder. A lock whose holder is gone is taken over.
 *
 * @throws the signal's reason when aborted while waiting; PipelineError StorageFailed
 */
export async function withLock<T>(folder: string, signal: AbortSignal | undefined, body: () => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw storageError(folder, error);
  });
  const path = join(folder, LOCK_FILE);
  while (!(await tryLock(path))) {
    signal?.throwIfAborted();
    await removeStaleLock(path);
    await delay(LOCK_POLL_MS);
  }
  try {
    return await body();
  } finally {
    await rm(path, { force: true });
  }
}

async function tryLock(path: string): Promise<boolean> {
  try {
    const handle = await open(path, 'wx');
    await handle.writeFile(JSON.stringify({ host: hostname(), ...identify(process.pid) }));
    await handle.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw storageError(path, error);
  }
}

async function removeStaleLock(path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => '');
  if (text === '') return;
  let holder: ProcessIdentity & { host: string };
  try {
    holder = JSON.parse(text) as ProcessIdentity & { host: string };
  } catch {
    return;
  }
  if (holder.host !== hostname()) {
    throw new PipelineError(
      'EngineUnavailable',
      `the engine folder of ${path} is locked by process ${holder.pid} on host ${holder.host}`,
      {
        where: path,
        cure: `Stop that worker, or delete ${path} when the host is gone.`,
      }
    );
  }
  if (!isAlive(holder)) await rm(path, { force: true });
}
