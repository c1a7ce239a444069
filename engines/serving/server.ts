import { hashJson } from '../../shared/contracts/canonical-json.js';
import { PipelineError } from '../../shared/contracts/pipeline-error.js';
import { isPortFree } from '../../shared/runtime/ports.js';
import { groupMembers } from '../../shared/runtime/process-group.js';
import { readLease } from '../supervision/lease.js';
import { ensureLeased, stopLeased, type EngineHandle } from '../supervision/leased-process.js';
import { modelStamp } from '../supervision/model-stamp.js';
import { untilReleased } from './gpu-release.js';
import type { ServerSpec } from './server-spec.js';
import { SERVER_GRACE_MS, startServer } from './start-server.js';

export type { ServerKind, ServerSpec } from './server-spec.js';

/** A busy server answers a health check late. Unit: milliseconds. */
const HEALTH_MS = 30_000;

/** Longest time for a driver to give the memory of ended processes back. Unit: milliseconds. */
const RELEASE_MS = 30_000;

/**
 * Finds the server of a folder, or starts one. All workers of a host share it through the lease; one of another model, other
 * arguments or an owner that is gone is replaced.
 *
 * @throws PipelineError EngineUnavailable or OutOfMemory with the end of its log
 */
export async function ensureServer(spec: ServerSpec, signal?: AbortSignal): Promise<EngineHandle> {
  const { startSeconds: _, ...telling } = spec;
  const specHash = hashJson({ ...telling, files: await modelStamp(spec.modelDir) });
  const start = (stop?: AbortSignal): ReturnType<typeof startServer> => startServer(spec, stop);
  const wanted = { folder: spec.folder, specHash, graceMs: SERVER_GRACE_MS, healthMs: HEALTH_MS, start };
  return await ensureLeased(wanted, signal);
}

/**
 * Stops the server of a folder with its whole process group. Does nothing when there is none.
 *
 * @throws PipelineError EngineUnavailable when its port or its GPU memory is not free afterwards
 */
export async function stopServer(folder: string): Promise<void> {
  const lease = await readLease(folder);
  const members = lease === undefined ? [] : await groupMembers(lease.engine.pid);
  await stopLeased(folder);
  if (lease === undefined || members.length === 0) return;
  const holders = await untilReleased(members, RELEASE_MS);
  const problems = [
    ...((await groupMembers(lease.engine.pid)).length === 0 ? [] : ['processes of its group still run']),
    ...((await isPortFree(lease.port)) ? [] : [`port ${lease.port} is still taken`]),
    ...(holders.length === 0 ? [] : [`processes ${holders.join(', ')} still hold GPU memory`]),
  ];
  if (problems.length === 0) return;
  throw new PipelineError('EngineUnavailable', `the server of ${folder} was stopped, but ${problems.join(' and ')}`, {
    where: folder,
    problems,
    cure: 'End these processes on the worker’s host, then decide retry.',
  });
}
