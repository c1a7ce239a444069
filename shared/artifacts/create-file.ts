import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
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

/**
 * Removes a file only if it is still the one that was read, e.g. a lock whose holder is gone: of several that see it only one
 * moves it aside, and what another one put in its place meanwhile is put back. One that cannot be read is put back, too.
 */
export async function removeFile(path: string, isExpected: (text: string) => boolean): Promise<void> {
  const aside = temporaryName(path);
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  const text = await readFile(aside, 'utf8').catch(() => undefined);
  if (text === undefined || !isExpected(text)) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}
