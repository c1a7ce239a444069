import { access, stat } from 'node:fs/promises';
import { constants } from 'node:fs';
import { extname } from 'node:path';
import { PipelineError } from '../contracts/pipeline-error.js';
import { readJsonRows } from './read-json.js';
import { readJsonlRows } from './read-jsonl.js';
import { readParquetRows } from './read-parquet.js';
import { dataInvalid, type ReadOptions, type SourceRow } from './source-row.js';

type Reader = (path: string, options: ReadOptions) => AsyncGenerator<SourceRow[]>;

const READERS: Readonly<Record<string, Reader>> = {
  '.parquet': readParquetRows,
  '.json': readJsonRows,
  '.jsonl': readJsonlRows,
};

/**
 * Rows of a data file in batches; the format follows from the name: `.parquet`, `.json` (array, or object of rows), `.jsonl`.
 *
 * @throws PipelineError DataInvalid: missing, unreadable, unknown format, torn
 */
export async function* readRows(path: string, options: ReadOptions = {}): AsyncGenerator<SourceRow[]> {
  const reader = READERS[extname(path).toLowerCase()];
  await checkReadable(path);
  if (reader === undefined) {
    const known = Object.keys(READERS).join(', ');
    throw dataInvalid(
      path,
      'the name does not say the format',
      `Known endings are ${known}: rename or convert the file`
    );
  }
  yield* reader(path, options);
}

async function checkReadable(path: string): Promise<void> {
  try {
    if (!(await stat(path)).isFile()) throw dataInvalid(path, 'it is not a file', 'Name a data file in the recipe');
    await access(path, constants.R_OK);
  } catch (error) {
    if (error instanceof PipelineError) throw error;
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw missing
      ? dataInvalid(
          path,
          'there is no such file',
          'Correct the path under "data" in the recipe, or put the file there',
          error
        )
      : dataInvalid(
          path,
          `it cannot be read (${(error as Error).message})`,
          'Correct the owner or mode of the file',
          error
        );
  }
}
