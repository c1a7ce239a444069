import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { dirname } from 'node:path/posix';
import type { ArtifactKind } from '../contracts/artifact.js';

/** What a checkpoint of a framework consists of, in the place of its many gigabytes: `checkpoints/iter_NNNNNNN.json`. */
export interface CheckpointFiles {
  step: number;
  /** Relative to the folder beside this file, with the sizes they had when the checkpoint was found complete. */
  files: { path: string; bytes: number }[];
  bytes: number;
  /** The files are too large to be read again for a hash; their sizes are checked. */
  hashed: false;
}

/** Whether a file of kind `checkpoint` is such a list, and not a part of a checkpoint. */
export function isCheckpointList(path: string): boolean {
  return /(^|\/)iter_\d+\.json$/.test(path);
}

/** The folder whose files a list of this path names: it has the list's name without `.json`. */
export function checkpointFolder(list: string): string {
  return list.replace(/\.json$/, '');
}

/** What is not as listed: one phrase for each file that is missing or of another size, beginning with its path. */
export async function wrongSizes(folder: string, files: CheckpointFiles['files']): Promise<string[]> {
  const problems: string[] = [];
  for (const { path, bytes } of files) {
    const found = await stat(join(folder, path)).catch(() => undefined);
    if (found === undefined) problems.push(`${path} is missing`);
    else if (found.size !== bytes) problems.push(`${path} has ${found.size} bytes, ${bytes} were saved`);
  }
  return problems;
}

interface Described {
  path: string;
  kind: ArtifactKind;
}

/**
 * Folders whose files no manifest lists: a framework's own checkpoints, of which the artifact is a list of files (a file of kind
 * `checkpoint`) beside them. They are tens of gigabytes and go when the run is archived.
 *
 * @param files artifacts that are files, not folders
 */
export function externalFolders(files: readonly Described[]): string[] {
  const lists = files.filter(({ kind, path }) => kind === 'checkpoint' && isCheckpointList(path));
  return [...new Set(lists.map(({ path }) => dirname(path)))];
}

/** Whether a file lies in such a folder and is no artifact itself. */
export function isExternal(name: string, folders: readonly string[], artifacts: ReadonlySet<string>): boolean {
  return !artifacts.has(name) && folders.some((folder) => name.startsWith(`${folder}/`));
}
