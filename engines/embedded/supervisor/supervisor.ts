import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { request } from 'undici';
import { hashJson } from '../../../shared/contracts/canonical-json.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { killGroup, startEngine, withEnvironment, type EngineSpec } from './engine-process.js';
import { withLock } from './folder-lock.js';
import { isHere, readLease, removeLease, writeLease, type EngineLease } from './lease.js';
import { identify, isAlive, isStopped } from '../../../shared/runtime/process-identity.js';

export type { EngineSpec } from './engine-process.js';

/** A running engine. */
export interface EngineHandle {
  /** `http://127.0.0.1:<port>` */
  endpoint: string;
  lease: EngineLease;
}

/** A health check that takes longer than this is a dead engine. */
const HEALTH_MS = 10_000;

/** Folders whose engine this process started: they go down with it. */
const owned = new Set<string>();

/**
 * Finds the engine of a folder, or starts one. All workers of a host share it through the lease; an engine with another
 * specification or other model files, or one that does not run or answer any more, is replaced.
 *
 * @throws PipelineError EngineUnavailable, or the engine's own reason not to start (e.g. CheckpointInvalid)
 */
export async function ensureEngine(wanted: EngineSpec, signal?: AbortSignal): Promise<EngineHandle> {
  const spec = withEnvironment(wanted);
  const specHash = await hashOf(spec);
  const before = await readLease(spec.engineDir);
  if (before !== undefined && (await isUsable(before, specHash))) return handleOf(before);
  return await withLock(spec.engineDir, signal, async () => {
    const found = await readLease(spec.engineDir);
    // The engine that did not answer a moment ago is not asked again: that would double the time until it is replaced.
    const isOther = found !== undefined && !isDeepStrictEqual(found.engine, before?.engine);
    if (isOther && (await isUsable(found, specHash))) return handleOf(found);
    return await replaceEngine(spec, specHash, signal);
  });
}

/**
 * Equal models at one path are told apart by size and time of their files: hashing them at every call would cost too much. The number
 * of threads changes no result, so workers that disagree about it share an engine.
 */
async function hashOf({ threads: _, ...spec }: EngineSpec): Promise<string> {
  const folders = [spec.modelDir, ...(spec.referenceDir === undefined ? [] : [spec.referenceDir])];
  const paths = folders.flatMap((folder) => [join(folder, 'config.json'), join(folder, 'model.safetensors')]);
  const files = paths.map(async (path) => {
    const info = await stat(path).catch(() => undefined);
    return info === undefined ? null : [info.size, info.mtimeMs];
  });
  return hashJson({ ...spec, files: await Promise.all(files) });
}

function handleOf(lease: EngineLease): EngineHandle {
  return { endpoint: `http://127.0.0.1:${lease.port}`, lease };
}

/** Asked every time: an engine that was well a step ago may be frozen, or its port refuse, now. */
async function isUsable(lease: EngineLease, specHash: string): Promise<boolean> {
  if (lease.specHash !== specHash || !isHere(lease) || !isAlive(lease.engine) || isStopped(lease.engine)) return false;
  return await isHealthy(lease);
}

async function isHealthy(lease: EngineLease): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`${handleOf(lease).endpoint}/health`, {
      headersTimeout: HEALTH_MS,
      bodyTimeout: HEALTH_MS,
    });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

async function replaceEngine(spec: EngineSpec, specHash: string, signal?: AbortSignal): Promise<EngineHandle> {
  const folder = spec.engineDir;
  const old = await readLease(folder);
  if (old !== undefined) await retire(folder, old);
  const started = await startEngine(spec, signal);
  const lease: EngineLease = {
    host: hostname(),
    engine: started.identity,
    owner: identify(process.pid),
    port: started.port,
    token: (old?.token ?? 0) + 1,
    specHash,
  };
  try {
    await writeLease(folder, lease);
  } catch (error) {
    await killGroup(started.identity.pid);
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
  await Promise.all([...owned].map((folder) => stopOwn(folder)));
}

/** An engine that another process put in the place of ours is not ours to stop. */
async function stopOwn(folder: string): Promise<void> {
  const lease = await readLease(folder);
  if (lease?.owner.pid === process.pid) await stopEngine(folder);
  owned.delete(folder);
}
