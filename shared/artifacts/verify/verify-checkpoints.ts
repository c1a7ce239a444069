import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkpointFolder, wrongSizes, type CheckpointFiles } from '../external-checkpoints.js';
import type { Manifest } from '../manifest.js';
import { CheckBuilder, type VerifyCheck } from './check.js';

/**
 * The files of the frameworks' own checkpoints, which no manifest lists: their sizes are those that were written down when the
 * checkpoint was found complete. Only a list that another run's stage was reused with may stand without its folder.
 */
export async function verifyCheckpoints(directory: string, manifest: Manifest): Promise<VerifyCheck> {
  const check = new CheckBuilder(
    'checkpoints',
    'sizes of the files of each job’s last checkpoint, as listed when it was complete'
  );
  for (const { path, kind, artifact, reusedFrom } of manifest.files) {
    if (kind !== 'checkpoint' || artifact !== undefined) continue;
    await check.attempt(path, async () => {
      const { files } = JSON.parse(await readFile(join(directory, path), 'utf8')) as Partial<CheckpointFiles>;
      if (!Array.isArray(files) || files.length === 0) throw new Error('it lists no files of a checkpoint');
      const folder = checkpointFolder(path);
      const isThere = existsSync(join(directory, folder));
      if (!isThere && reusedFrom !== undefined) return;
      check.count(files.length);
      if (!isThere) check.problem(`${folder} is missing: the folder of ${files.length} files that ${path} lists.`);
      else
        for (const problem of await wrongSizes(join(directory, folder), files)) check.problem(`${folder}/${problem}.`);
    });
  }
  return check.done();
}
