import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineLease } from '../../engines/supervision/lease.js';
import { isAlive, type ProcessIdentity } from '../../shared/runtime/process-identity.js';

/** An engine that a run's folder knows of and that lives. */
export interface LiveEngine {
  /** Folder of its lease. */
  folder: string;
  lease: EngineLease;
}

/** Live engines of a run, sorted by folder. */
export function enginesOf(runDirectory: string): LiveEngine[] {
  const root = join(runDirectory, '.engines');
  if (!existsSync(root)) return [];
  const folders = readdirSync(root)
    .sort()
    .map((name) => join(root, name));
  return folders.flatMap((folder) => {
    try {
      const lease = JSON.parse(readFileSync(join(folder, 'engine.json'), 'utf8')) as EngineLease;
      return isAlive(lease.engine) ? [{ folder, lease }] : [];
    } catch {
      // No lease now: the engine is being started or stopped.
      return [];
    }
  });
}

/** Live engine processes of a run. */
export function liveEngines(runDirectory: string): ProcessIdentity[] {
  return enginesOf(runDirectory).map(({ lease }) => lease.engine);
}
