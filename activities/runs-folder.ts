import { access, constants, mkdir, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { storageError } from '../shared/artifacts/atomic-file.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';

/** The laptop recipe writes about half of it; a run that cannot begin should not be tried. Unit: bytes. */
const LEAST_FREE_BYTES = 64 * 1024 * 1024;

/**
 * Makes the folder of all runs and checks that runs can be written there. At this point time heals nothing, so unlike a write
 * that fails in the middle of a run this is an error of the recipe, which is not retried.
 *
 * @throws PipelineError RecipeInvalid naming the folder
 */
export async function ensureRunsFolder(root: string): Promise<void> {
  try {
    await makeFolder(root);
    await access(root, constants.W_OK);
    if (!(await stat(root)).isDirectory()) throw new Error('it is not a folder');
  } catch (error) {
    const { message, details } = storageError(root, error);
    throw refusal(root, message, details.cure);
  }
  const { bavail, bsize } = await statfs(root);
  if (bavail * bsize < LEAST_FREE_BYTES)
    throw refusal(
      root,
      `${root} has ${Math.floor((bavail * bsize) / 1e6)} MB free, a run needs at least ${Math.ceil(LEAST_FREE_BYTES / 1e6)} MB`,
      'Free some space there, or set "artifacts" in the recipe to a folder with more room.'
    );
}

/** Node's own recursive mkdir never returns where the system refuses every new name with ENOENT, as in /proc. */
async function makeFolder(path: string): Promise<void> {
  const parent = dirname(path);
  const parentExists = await stat(parent).then(
    (facts) => facts.isDirectory(),
    () => false
  );
  if (!parentExists && parent !== path) await makeFolder(parent);
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

function refusal(root: string, message: string, cure: string | undefined): PipelineError {
  return new PipelineError('RecipeInvalid', message, {
    where: root,
    problems: [`artifacts: ${message}`],
    ...(cure === undefined ? {} : { cure }),
  });
}
