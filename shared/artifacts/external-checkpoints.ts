import { dirname } from 'node:path/posix';
import type { ArtifactKind } from '../contracts/artifact.js';

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
  return [...new Set(files.filter(({ kind }) => kind === 'checkpoint').map(({ path }) => dirname(path)))];
}

/** Whether a file lies in such a folder and is no artifact itself. */
export function isExternal(name: string, folders: readonly string[], artifacts: ReadonlySet<string>): boolean {
  return !artifacts.has(name) && folders.some((folder) => name.startsWith(`${folder}/`));
}
