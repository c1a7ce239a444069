import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PipelineError } from '../contracts/pipeline-error.js';

/** Flushes a folder's entry table, so that a rename survives a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Writes a file so that a reader sees either the old bytes or all of the new ones, also after a crash:
 * temporary name in the same folder, fsync, rename, fsync of the folder.
 *
 * @returns SHA-256 (hex) and size of what was written
 * @throws PipelineError `StorageFailed` naming the path, for a full disk, missing permission and the like
 */
export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array
): Promise<{ sha256: string; bytes: number }> {
  const bytes = typeof data === 'string' ? Buffer.from(data, 'utf8') : data;
  const temporary = temporaryName(path);
  try {
    await mkdir(dirname(path), { recursive: true });
    const handle = await open(temporary, 'wx');
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw storageError(path, error);
  }
  return { sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.byteLength };
}

/** A name next to `path` for an unfinished file; `*.partial-*` files are safe to delete when no writer lives. */
export function temporaryName(path: string): string {
  return `${path}.partial-${process.pid}-${randomUUID().slice(0, 8)}`;
}

/** Last part of the path of an unfinished file or folder. */
const UNFINISHED = /\.partial-\d+-[0-9a-f]{8}$/;

/** Whether a path is that of an unfinished file or folder, or within such a folder. */
export function isUnfinished(path: string): boolean {
  return path.split('/').some((part) => UNFINISHED.test(part));
}

/**
 * Removes every unfinished file and folder below a folder. Only for a caller that knows that no writer lives there.
 *
 * @throws PipelineError `StorageFailed` naming the folder
 */
export async function removeUnfinished(folder: string): Promise<void> {
  try {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
      if (UNFINISHED.test(entry.name)) await rm(join(entry.parentPath, entry.name), { recursive: true, force: true });
  } catch (error) {
    throw storageError(folder, error);
  }
}

/** Turns a file system error into a `StorageFailed` that says what to do. */
export function storageError(path: string, error: unknown): PipelineError {
  if (error instanceof PipelineError) return error;
  const code = (error as NodeJS.ErrnoException)?.code ?? 'unknown';
  const cures: Record<string, string> = {
    ENOSPC: 'The disk is full: free some space and run again; everything finished so far is kept.',
    EDQUOT: 'The disk quota is used up: free some space and run again; everything finished so far is kept.',
    EACCES:
      'No permission to write there: change the owner or mode of the folder, or set "artifacts" in the recipe to another one.',
    EPERM:
      'No permission to write there: change the owner or mode of the folder, or set "artifacts" in the recipe to another one.',
    EROFS: 'The file system is read-only: set "artifacts" in the recipe to a writable folder.',
  };
  const cure = cures[code] ?? 'Check the path and its file system.';
  const text = error instanceof Error ? error.message : String(error);
  return new PipelineError(
    'StorageFailed',
    `cannot write ${path}: ${text}. ${cure}`,
    { where: path, cure },
    { cause: error }
  );
}

/** Largest piece that is read at once when hashing. Unit: bytes. */
const HASH_PIECE = 1024 * 1024;

/** SHA-256 (hex) and size of a file, read in pieces of at most 1 MiB; a small file takes a small buffer. */
export async function hashFile(path: string): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(HASH_PIECE, size)));
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length);
      if (bytesRead === 0) return { sha256: hash.digest('hex'), bytes };
      hash.update(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await handle.close();
  }
}
