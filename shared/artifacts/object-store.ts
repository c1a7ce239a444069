import { constants } from 'node:fs';
import { copyFile, link, mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { storageError, syncDirectory, temporaryName } from './atomic-file.js';
import { hashFileCached, stayKnown } from './hash-cache.js';
import { syncFile } from './move.js';
import { STORE_FOLDER } from './run-paths.js';

/** Errors of link(2) that mean "not here": other device, no links on this file system, too many links. */
const NO_LINK = new Set(['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS']);

/**
 * Content-addressed store `<root>/.store/sha256/ab/<hash>`: one copy of equal bytes for all runs of a root, shared by hard
 * links where the file system has them. An object is verified whenever it is taken out, so a damaged one is never spread.
 */
export class ObjectStore {
  constructor(private readonly root: string) {}

  /** Absolute path of an object. */
  path(sha256: string): string {
    return join(this.root, STORE_FOLDER, 'sha256', sha256.slice(0, 2), sha256);
  }

  /**
   * Keeps a complete file under its hash; the file stays at its place, afterwards as a link to the object. A damaged object
   * is replaced.
   */
  async keep(file: string, sha256: string): Promise<void> {
    const object = this.path(sha256);
    try {
      await mkdir(dirname(object), { recursive: true });
      if (!(await this.holds(sha256))) {
        await placeLink(file, object);
      } else if ((await stat(object)).ino !== (await stat(file)).ino) {
        await placeLink(object, file);
      }
    } catch (error) {
      throw storageError(object, error);
    }
  }

  /** True when the object is there and its bytes have its hash. */
  async holds(sha256: string): Promise<boolean> {
    return hasHash(this.path(sha256), sha256);
  }

  /** Puts an object at a path, whole or not at all. Verify it with {@link holds} before. */
  async materialize(sha256: string, target: string): Promise<void> {
    try {
      await mkdir(dirname(target), { recursive: true });
      await placeLink(this.path(sha256), target);
      await syncDirectory(dirname(target));
    } catch (error) {
      throw storageError(target, error);
    }
  }
}

/** True when the file is there and has this hash. */
export async function hasHash(path: string, sha256: string): Promise<boolean> {
  try {
    return (await hashFileCached(path)).sha256 === sha256;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return false;
    throw error;
  }
}

/** Makes `target` the same file as `source` (or a synced copy), replacing what is there in one step. */
export async function placeLink(source: string, target: string): Promise<void> {
  const temporary = temporaryName(target);
  // A new link changes the change time, and a large file must not be hashed again for that.
  await stayKnown(source, async () => {
    try {
      await linkOrCopy(source, temporary);
      await rename(temporary, target);
    } finally {
      // rename(2) between two links of one file does nothing and succeeds: the temporary name would stay.
      await rm(temporary, { force: true });
    }
  });
}

async function linkOrCopy(source: string, target: string): Promise<void> {
  try {
    await link(source, target);
  } catch (error) {
    if (!NO_LINK.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await copyFile(source, target, constants.COPYFILE_FICLONE);
    await syncFile(target);
  }
}
