import type { ChildProcess } from 'node:child_process';
import { hostname } from 'node:os';
import { hashJson } from '../../../shared/contracts/canonical-json.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { killGroup, startEngine, type EngineSpec } from './engine-process.js';
import { isHere, readLease, removeLease, withLock, writeLease, type EngineLease } from './lease.js';
import { identify, isAlive } from './process-identity.js';

export type { EngineSpec } from './engine-process.js';

/** A running engine. */
export interface EngineHandle {
  /** `http://127.0.0.1:<port>` */
  endpoint: string;
  lease: EngineLease;
}

/** Engines that this process started, by folder: they go down with it. */
const owned = new Map<string, ChildProcess>();

/**
 * Finds the engine of a folder, or starts one. All workers of a host share it through the lease; an engine with another
 * specification, or one that does not run any more, is replaced.
 *
 * @throws PipelineError EngineUnavailable
 */
export async function ensureEngine(spec: EngineSpec, signal?: AbortSignal): Promise<EngineHandle> {
  const specHash = hashJson(spec);
  const current = await usableLease(spec.engineDir, specHash);
  if (current !== undefined) return handleOf(current);
  return await withLock(spec.engineDir, signal, async () => {
    const found = await usableLease(spec.engineDir, specHash);
    if (found !== undefined) return handleOf(found);
    return await replaceEngine(spec, specHash, signal);
  });
}

function handleOf(lease: EngineLease): EngineHandle {
  return { endpoint: `http://127.0.0.1:${lease.port}`, lease };
}

async function usableLease(folder: string, specHash: string): Promise<EngineLease | undefined> {
  const lease = await readLease(folder);
  if (lease === undefined || lease.specHash !== specHash || !isHere(lease)) return undefined;
  return isAlive(lease.engine) ? lease : undefined;
}

async function replaceEngine(spec: EngineSpec, specHash: string, signal?: AbortSignal): Promise<EngineHandle> {
  const old = await readLease(spec.engineDir);
  if (old !== undefined) await retire(spec.engineDir, old);
  const started = await startEngine(spec, signal);
  owned.set(spec.engineDir, started.child);
  started.child.once('exit', () => owned.get(spec.engineDir) === started.child && owned.delete(spec.engineDir));
  const lease: EngineLease = {
    host: hostname(),
    engine: started.identity,
    owner: identify(process.pid),
    port: started.port,
    token: (old?.token ?? 0) + 1,
    specHash,
  };
  await writeLease(spec.engineDir, lease);
  return handleOf(lease);
}

/** Ends the engine of an old lease. One on another host cannot be reached: only its owner's end frees the folder. */
async function retire(folder: string, lease: EngineLease): Promise<void> {
  if (!isHere(lease)) {
    throw new PipelineError(
      'EngineUnavailable',
      `the engine of ${folder} is leased by process ${lease.engine.pid} on host ${lease.host}`,
      {
        where: folder,
        cure: `Stop the worker on ${lease.host}; when that host is gone, delete ${folder}/engine.json.`,
      }
    );
  }
  if (isAlive(lease.engine)) await killGroup(lease.engine.pid);
}

/** Stops the engine of a folder, whoever on this host started it, and gives up the lease. Does nothing when there is none. */
export async function stopEngine(engineDir: string): Promise<void> {
  if ((await readLease(engineDir)) === undefined) return;
  await withLock(engineDir, undefined, async () => {
    const lease = await readLease(engineDir);
    if (lease === undefined || !isHere(lease)) return;
    if (isAlive(lease.engine)) await killGroup(lease.engine.pid);
    owned.delete(engineDir);
    await removeLease(engineDir);
  });
}

/** Stops every engine this process started: part of a worker's shutdown. */
export async function stopOwnedEngines(): Promise<void> {
  await Promise.all([...owned.keys()].map((folder) => stopEngine(folder)));
}
