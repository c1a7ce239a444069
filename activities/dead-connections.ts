import { isHere, readLease } from '../engines/supervision/lease.js';
import { isAlive } from '../shared/runtime/process-identity.js';

/**
 * Folders whose engine is gone. An engine is stopped by whichever worker is told to; the connections that others keep to it are
 * theirs to close.
 *
 * @param folders engines' folders that connections are kept for
 */
export async function deadFolders(folders: Iterable<string>): Promise<string[]> {
  const dead: string[] = [];
  for (const folder of folders) {
    const lease = await readLease(folder);
    if (lease === undefined || !isHere(lease) || !isAlive(lease.engine)) dead.push(folder);
  }
  return dead;
}
