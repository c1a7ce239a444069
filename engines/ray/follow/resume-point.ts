import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { storageError, writeFileAtomic } from '../../../shared/artifacts/atomic-file.js';
import { newestCheckpoint, TRACKER_FILE } from '../checkpoints.js';
import type { ResumePoint } from '../types.js';

/**
 * The checkpoint a job goes on from: the newest complete one of whose steps every reward is known, for what a lost log said is
 * never said again. The tracker file then names that very checkpoint, because the frameworks load what it names, also when a
 * newer save was torn.
 *
 * @param rewarded steps 0 … this − 1 have a reward
 * @throws PipelineError StorageFailed
 */
export async function resumePoint(dir: string, rewarded: number): Promise<ResumePoint | undefined> {
  const tracker = join(dir, TRACKER_FILE);
  const tracked = await readFile(tracker, 'utf8').catch(() => undefined);
  if (tracked === undefined) return undefined;
  let { newest } = await newestCheckpoint(dir);
  if (newest !== undefined && newest.step >= rewarded) {
    if (rewarded > 0) {
      await writeFileAtomic(tracker, String(rewarded - 1));
      ({ newest } = await newestCheckpoint(dir));
    } else newest = undefined;
  }
  if (newest === undefined) {
    // A framework that restarts itself would load what it names.
    await rename(tracker, `${tracker}.unusable`).catch((error: unknown) => {
      throw storageError(tracker, error);
    });
    return undefined;
  }
  if (tracked.trim() !== String(newest.step)) await writeFileAtomic(tracker, String(newest.step));
  return { dir, step: newest.step };
}
