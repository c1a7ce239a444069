import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { storageError } from './atomic-file.js';

const UNFINISHED = /\.partial-\d+-[0-9a-f]{8}$/;

/**
 * Deletes unfinished files and folders (`*.partial-<pid>-<id>`) below a folder. Only for a caller that knows that nobody writes
 * there any more. Does nothing when there is no such folder.
 *
 * @returns how many there were
 * @throws PipelineError `StorageFailed` naming the path
 */
export async function removeUnfinished(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw storageError(folder, error);
  });
  let removed = 0;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (UNFINISHED.test(entry.name)) {
      await rm(path, { recursive: true, force: true });
      removed += 1;
    } else if (entry.isDirectory()) removed += await removeUnfinished(path);
  }
  return removed;
}
