import { link, rm, writeFile } from 'node:fs/promises';
import { storageError, temporaryName } from './atomic-file.js';

/**
 * Creates a file only where there is none. It appears with its content in one step (a link to a finished file), so that a reader
 * never sees half of it. Its folder must be there.
 *
 * @returns false when there is one already
 * @throws PipelineError StorageFailed
 */
export async function createFile(path: string, text: string): Promise<boolean> {
  const temporary = temporaryName(path);
  try {
    await writeFile(temporary, text, { flag: 'wx' });
    await link(temporary, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw storageError(path, error);
  } finally {
    await rm(temporary, { force: true });
  }
}
