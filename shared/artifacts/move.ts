import { constants } from 'node:fs';
import { copyFile, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { storageError, syncDirectory, temporaryName } from './atomic-file.js';
import { listFiles } from './hash-cache.js';

/** Flushes a file's bytes to the disk. */
export async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}

/**
 * Moves a finished file to its place, synced, also from another file system.
 *
 * @throws PipelineError `StorageFailed` naming the target
 */
export async function moveFile(source: string, target: string): Promise<void> {
  try {
    await mkdir(dirname(target), { recursive: true });
    await syncFile(source);
    await rename(source, target).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EXDEV') throw error;
      await copyWhole(source, target);
      await rm(source);
    });
    await syncDirectory(dirname(target));
  } catch (error) {
    throw storageError(target, error);
  }
}

async function copyWhole(source: string, target: string): Promise<void> {
  const temporary = temporaryName(target);
  try {
    await copyFile(source, temporary, constants.COPYFILE_FICLONE);
    await syncFile(temporary);
    await rename(temporary, target);
  } finally {
    await rm(temporary, { force: true });
  }
}

/**
 * Moves a finished folder of the same file system to its place, its files synced. What was there goes first: for a moment
 * there is nothing, and a reader that comes then sees an incomplete artifact, never a mixture.
 *
 * @throws PipelineError `StorageFailed` naming the target
 */
export async function moveFolder(source: string, target: string): Promise<void> {
  const old = temporaryName(target);
  try {
    await mkdir(dirname(target), { recursive: true });
    for (const name of await listFiles(source)) await syncFile(join(source, name));
    await rename(target, old).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    await rename(source, target);
    await syncDirectory(dirname(target));
  } catch (error) {
    throw storageError(target, error);
  } finally {
    await rm(old, { recursive: true, force: true });
  }
}
