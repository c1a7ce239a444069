import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { hashFile } from '../shared/artifacts/atomic-file.js';
import { EXIT, UserError } from '../shared/contracts/user-error.js';

/** A data file a person named, hashed. */
export interface NamedSource {
  path: string;
  bytes: number;
  sha256: string;
}

/**
 * Hashes a source before anything is written.
 *
 * @param results files that will be written
 * @throws UserError when it is not there, or would be written over
 */
export async function openSource(path: string, results: readonly string[]): Promise<NamedSource> {
  if (!existsSync(path) || !statSync(path).isFile())
    throw new UserError(`there is no data file ${path}`, {
      cure: 'Give a JSON, JSONL or Parquet file.',
      exitCode: EXIT.usage,
    });
  const over = results.find((result) => resolve(result) === resolve(path));
  if (over !== undefined)
    throw new UserError(`${over} is the source itself`, { cure: 'Give another --out.', exitCode: EXIT.usage });
  return { path, ...(await hashFile(path)) };
}
