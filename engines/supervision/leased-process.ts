import { hostname } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { request } from 'undici';
import { PipelineError } from '../../shared/contracts/pipeline-error.js';
import { onAbort } from '../../shared/inference/on-abort.js';
import { identify, isAlive, isStopped, type ProcessIdentity } from '../../shared/runtime/process-identity.js';
import { isLocked, withLock } from './folder-lock.js';
import { noteHandBack } from './hand-back.js';
import { killGroup } from './kill-group.js';
import { isHere, readLease, removeLease, writeLease, type EngineLease } from './lease.js';

/** Name of the log in an engine's folder. */
export const LOG_FILE = 'engine.log';

/** A process that listens on a port of 127.0.0.1 and leads a process group. */
export interface StartedProcess {
  port: number;
  identity: ProcessIdentity;
}

/** What a folder's process is to be. */
export interface WantedProcess {
  /** Folder of the lease, the lock and the log; one process per folder. */
  folder: string;
  /** Equal for equal processes: one with another hash is replaced. */
  specHash: string;
  /** Time between asking it to end and killing it. Unit: milliseconds. Default 5,000. */
  graceMs?: number;
  /** Longest time for an answer to a health check. Unit: milliseconds. Default 10,000. */
  healthMs?: number;
  /** Starts it and returns once it serves; leaves nothing behind when it throws. */
  start(signal?: AbortSignal): Promise<StartedProcess>;
}

/** A running engine. */
export interface EngineHandle {
  /** `http://127.0.0.1:<port>` */
  endpoint: string;
  lease: EngineLease;
}

/** A health check that takes longer than this is a dead engine. */
const HEALTH_MS = 10_000;

/** A worker that shuts down waits this long for another process that starts or stops the same engine. */
const LOCK_WAIT_MS = 3_000;

/** Folders whose process this process started: they go down with it. */
const owned = new Set<string>();

/**
 * Finds the process of a folder, or starts one. All workers of a host share it through the lease; one of another specification, or
 * one that does not run or answer any more, is replaced.
 *
 * @throws PipelineError EngineUnavailable when it is leased on another host; what `start` throws
 */
export async function ensureLeased(wanted: WantedProcess, signal?: AbortSignal): Promise<EngineHandle> {
  const before = await readLease(wanted.folder);
  if (before !== undefined && (await isUsable(before, wanted))) return handleOf(before);
  return await withLock(wanted.folder, signal, async () => {
    const found = await readLease(wanted.folder);
    // The process that did not answer a moment ago is not asked again: that would double the time until it is replaced.
    const isOther = found !== undefined && !isDeepStrictEqual(found.engine, before?.engine);
    if (isOther && (await isUsable(found, wanted))) return handleOf(found);
    return await replace(wanted, signal);
  });
}

function handleOf(lease: EngineLease): EngineHandle {
  return { endpoint: `http://127.0.0.1:${lease.port}`, lease };
}

/** Asked every time: an engine that was well a step ago may be frozen, or its port refuse, now. */
async function isUsable(lease: EngineLease, { specHash, healthMs }: WantedProcess): Promise<boolean> {
  if (lease.specHash !== specHash || !isHere(lease) || !isAlive(lease.engine) || isStopped(lease.engine)) return false;
  return await isHealthy(handleOf(lease).endpoint, healthMs ?? HEALTH_MS);
}

/** Whether a server answers `/health` with 200 in time. */
export async function isHealthy(endpoint: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted === true) return false;
  // Not `AbortSignal.any` with a time-out: Node collects a time-out that only a composed signal holds, and it never fires.
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), timeoutMs);
  const forget = onAbort(signal, () => over.abort());
  try {
    const { statusCode, body } = await request(`${endpoint}/health`, { signal: over.signal });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
    forget();
  }
}

async function replace(wanted: WantedProcess, signal?: AbortSignal): Promise<EngineHandle> {
  const { folder, specHash, graceMs } = wanted;
  const old = await readLease(folder);
  if (old !== undefined) await retire(folder, old);
  const started = await wanted.start(signal);
  const lease: EngineLease = {
    host: hostname(),
    engine: started.identity,
    owner: identify(process.pid),
    port: started.port,
    token: (old?.token ?? 0) + 1,
    specHash,
    ...(graceMs === undefined ? {} : { graceMs }),
  };
  try {
    await writeLease(folder, lease);
  } catch (error) {
    await killGroup(started.identity, graceMs);
    throw error;
  }
  owned.add(folder);
  return handleOf(lease);
}

/** Ends the engine of an old lease. One on another host cannot be reached: only its owner's end frees the folder. */
async function retire(folder: string, lease: EngineLease): Promise<void> {
  if (!isHere(lease)) {
    throw new PipelineError(
      'EngineUnavailable',
      `the engine of ${folder} is leased by process ${lease.engine.pid} on host ${lease.host}`,
      { where: folder, cure: `Stop the worker on ${lease.host}; when that host is gone, delete ${folder}/engine.json.` }
    );
  }
  await killGroup(lease.engine, lease.graceMs);
}

/** Stops the process of a folder, whoever on this host started it, and gives up the lease. Does nothing when there is none. */
export async function stopLeased(folder: string): Promise<void> {
  // One that is being started has no lease yet, and would come up after this.
  if ((await readLease(folder)) === undefined && !isLocked(folder)) return;
  await withLock(folder, undefined, async () => {
    const lease = await readLease(folder);
    if (lease !== undefined) await end(folder, lease);
  });
}

async function end(folder: string, lease: EngineLease): Promise<void> {
  if (!isHere(lease)) return;
  await killGroup(lease.engine, lease.graceMs);
  owned.delete(folder);
  await removeLease(folder);
}

/**
 * Stops every engine and server this process started, and says so in their folders: part of a worker's shutdown. What cannot be
 * stopped in good order is left to its guard, which ends it with this process.
 */
export async function stopAllOwned(): Promise<void> {
  await Promise.allSettled([...owned].map((folder) => stopOwn(folder)));
}

async function stopOwn(folder: string): Promise<void> {
  await withLock(folder, AbortSignal.timeout(LOCK_WAIT_MS), async () => {
    const lease = await readLease(folder);
    // One that another process put in the place of ours is not ours to stop.
    if (lease === undefined || !isDeepStrictEqual(lease.owner, identify(process.pid))) return;
    // Without a disk to say it on, it is a fault like any other.
    await noteHandBack(folder, lease).catch(() => undefined);
    await end(folder, lease);
  });
  owned.delete(folder);
}
