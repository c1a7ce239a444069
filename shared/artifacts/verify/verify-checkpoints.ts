import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkpointFolder, isCheckpointList, wrongSizes, type CheckpointFiles } from '../external-checkpoints.js';
import type { Manifest } from '../manifest.js';
import { CheckBuilder, type VerifyCheck } from './check.js';

/**
 * The files of the frameworks' own checkpoints, which no manifest lists: their sizes are those that were written down when the
 * checkpoint was found complete. They are far larger than all else, so a copy of a run for a reviewer has them seldom: a folder
 * that is not there is said, one that lacks a file is a problem.
 */
export async function verifyCheckpoints(directory: string, manifest: Manifest): Promise<VerifyCheck> {
  const check = new CheckBuilder(
    'checkpoints',
    'sizes of the files of each job’s last checkpoint, as listed when it was complete'
  );
  for (const { path, kind, artifact } of manifest.files) {
    if (kind !== 'checkpoint' || artifact !== undefined || !isCheckpointList(path)) continue;
    await check.attempt(path, async () => {
      const { files } = JSON.parse(await readFile(join(directory, path), 'utf8')) as Partial<CheckpointFiles>;
      if (!Array.isArray(files) || files.length === 0) throw new Error('it lists no files of a checkpoint');
      const folder = checkpointFolder(path);
      if (!existsSync(join(directory, folder)))
        return check.note(`${folder} is not here: the sizes of its ${files.length} files were not checked.`);
      check.count(files.length);
      for (const problem of await wrongSizes(join(directory, folder), files)) check.problem(`${folder}/${problem}.`);
    });
  }
  return check.done();
}
