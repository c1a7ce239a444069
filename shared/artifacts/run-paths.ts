import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { PipelineError } from '../contracts/pipeline-error.js';

/** Folders of a run's root and of a run that are ours, not the user's: names with a dot in front. */
export const META_FOLDER = '.meta';
export const STORE_FOLDER = '.store';
export const STAGES_FOLDER = '.stages';
export const MANIFEST_FILE = 'manifest.json';

const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/**
 * Name of a run's folder for a pipeline id. A plain id (letters, digits, `.`, `_`, `-`, at most 128, no dot in front) is its
 * own name; any other becomes a plain name with a piece of the id's SHA-256 at its end, so that it can neither leave the
 * root nor meet another id's folder.
 *
 * @throws PipelineError `RecipeInvalid` for an empty id
 */
export function runDirectoryName(pipelineId: string): string {
  if (PLAIN_NAME.test(pipelineId)) return pipelineId;
  if (pipelineId === '') {
    throw new PipelineError('RecipeInvalid', 'the pipeline id is empty. Start the workflow with an id, e.g. my-run.');
  }
  const readable = pipelineId
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 100);
  const digest = createHash('sha256').update(pipelineId).digest('hex').slice(0, 12);
  return readable === '' ? `run-${digest}` : `${readable}-${digest}`;
}

/** Absolute path of a run's folder. */
export function runDirectory(root: string, pipelineId: string): string {
  return join(root, runDirectoryName(pipelineId));
}

/**
 * Checks a path within a run: relative, `/` between parts, no `.` or `..` part, no NUL or backslash.
 *
 * @returns the same path
 * @throws PipelineError `StorageFailed` naming the path
 */
export function checkedRelative(relative: string): string {
  const parts = relative.split('/');
  const bad = parts.some((part) => part === '' || part === '.' || part === '..' || /[\0\\]/.test(part));
  if (bad) {
    throw new PipelineError(
      'StorageFailed',
      `${JSON.stringify(relative)} is not a path within a run. Give a relative path with / between its parts and no "." or "..".`,
      { where: relative }
    );
  }
  return relative;
}

/** Like {@link checkedRelative}, and not within one of our own folders. */
export function checkedArtifactPath(relative: string): string {
  checkedRelative(relative);
  if (relative.startsWith('.') || relative === MANIFEST_FILE) {
    throw new PipelineError(
      'StorageFailed',
      `${relative} is kept for the run itself; an artifact needs another path.`,
      {
        where: relative,
      }
    );
  }
  return relative;
}
