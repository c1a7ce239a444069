import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { storageError } from './atomic-file.js';
import { checkedRelative, META_FOLDER } from './run-paths.js';

/** Folder of a run for files that a decision replaced. */
export const DISCARDED_FOLDER = '.discarded';

/**
 * Moves files or folders of a run, and what is known of them, to `.discarded/<name>-<n>/`. What is known goes first: a file
 * without it counts as unfinished, so an interruption leaves nothing that looks complete.
 *
 * @throws PipelineError `StorageFailed` naming the path
 */
export async function setFilesAside(directory: string, paths: readonly string[], name: string): Promise<void> {
  const moves = paths.flatMap((path) => {
    const relative = checkedRelative(path);
    return [join(META_FOLDER, `${relative}.json`), join(META_FOLDER, relative), relative];
  });
  const present = moves.filter((path) => existsSync(join(directory, path)));
  if (present.length === 0) return;
  const target = freeFolder(join(directory, DISCARDED_FOLDER), checkedRelative(name));
  for (const path of present) {
    const to = join(target, path);
    try {
      await mkdir(dirname(to), { recursive: true });
      await rename(join(directory, path), to);
    } catch (error) {
      throw storageError(to, error);
    }
  }
}

function freeFolder(parent: string, name: string): string {
  for (let number = 1; ; number += 1) {
    const folder = join(parent, `${name}-${number}`);
    if (!existsSync(folder)) return folder;
  }
}
