import { existsSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { storageError } from '../../shared/artifacts/atomic-file.js';
import { createFile, removeFile } from '../../shared/artifacts/create-file.js';
import { PipelineError } from '../../shared/contracts/pipeline-error.js';
import { identify, isAlive, type ProcessIdentity } from '../../shared/runtime/process-identity.js';

const LOCK_FILE = 'engine.lock';
const LOCK_POLL_MS = 25;

/** Whether somebody starts or stops the engine of a folder now. */
export function isLocked(folder: string): boolean {
  return existsSync(join(folder, LOCK_FILE));
}

interface Holder extends ProcessIdentity {
  host: string;
}

/** Work of this process on one folder, one after the other: the lock file tells processes apart, not the tasks within one. */
const queues = new Map<string, Promise<unknown>>();

/**
 * Runs `body` while nobody else on this host starts or stops the engine of a folder. A lock whose holder is gone is taken over.
 *
 * @throws the signal's reason when aborted while waiting; PipelineError StorageFailed, EngineUnavailable when another host holds it
 */
export async function withLock<T>(folder: string, signal: AbortSignal | undefined, body: () => Promise<T>): Promise<T> {
  const before = queues.get(folder) ?? Promise.resolve();
  const mine = before.catch(() => undefined).then(() => lockedBody(folder, signal, body));
  queues.set(folder, mine);
  try {
    return await mine;
  } finally {
    if (queues.get(folder) === mine) queues.delete(folder);
  }
}

async function lockedBody<T>(folder: string, signal: AbortSignal | undefined, body: () => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw storageError(folder, error);
  });
  const path = join(folder, LOCK_FILE);
  for (;;) {
    signal?.throwIfAborted();
    if (await tryLock(path)) break;
    await removeStaleLock(path);
    await delay(LOCK_POLL_MS);
  }
  try {
    return await body();
  } finally {
    await rm(path, { force: true });
  }
}

function tryLock(path: string): Promise<boolean> {
  const holder: Holder = { host: hostname(), ...identify(process.pid) };
  return createFile(path, JSON.stringify(holder));
}

async function removeStaleLock(path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const holder = parseHolder(text);
  if (holder !== undefined && holder.host !== hostname()) {
    throw new PipelineError(
      'EngineUnavailable',
      `the engine folder of ${path} is locked by process ${holder.pid} on host ${holder.host}`,
      { where: path, cure: `Stop that worker, or delete ${path} when the host is gone.` }
    );
  }
  if (holder === undefined || !isAlive(holder)) await removeFile(path, (found) => found === text);
}

function parseHolder(text: string): Holder | undefined {
  try {
    const holder = JSON.parse(text) as Partial<Holder>;
    return typeof holder.pid === 'number' && typeof holder.host === 'string' ? (holder as Holder) : undefined;
  } catch {
    return undefined;
  }
}
