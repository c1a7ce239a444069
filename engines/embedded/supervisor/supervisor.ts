import { hashJson } from '../../../shared/contracts/canonical-json.js';
import { ensureLeased, stopLeased, type EngineHandle } from '../../supervision/leased-process.js';
import { modelStamp } from '../../supervision/model-stamp.js';
import { startEngine, withEnvironment, type EngineSpec } from './engine-process.js';

export type { EngineHandle } from '../../supervision/leased-process.js';
export type { EngineSpec } from './engine-process.js';

/**
 * Finds the engine of a folder, or starts one. All workers of a host share it through the lease; an engine with another
 * specification or other model files, or one that does not run or answer any more, is replaced.
 *
 * @throws PipelineError EngineUnavailable, or the engine's own reason not to start (e.g. CheckpointInvalid)
 */
export async function ensureEngine(wanted: EngineSpec, signal?: AbortSignal): Promise<EngineHandle> {
  const spec = withEnvironment(wanted);
  const start = (stop?: AbortSignal): ReturnType<typeof startEngine> => startEngine(spec, stop);
  return await ensureLeased({ folder: spec.engineDir, specHash: await hashOf(spec), start }, signal);
}

/** The number of threads changes no result, so workers that disagree about it share an engine. */
async function hashOf({ threads: _, ...spec }: EngineSpec): Promise<string> {
  const folders = [spec.modelDir, ...(spec.referenceDir === undefined ? [] : [spec.referenceDir])];
  return hashJson({ ...spec, files: await Promise.all(folders.map(modelStamp)) });
}

/** Stops the engine of a folder, whoever on this host started it, and gives up the lease. Does nothing when there is none. */
export async function stopEngine(engineDir: string): Promise<void> {
  await stopLeased(engineDir);
}
