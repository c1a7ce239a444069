import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { hashFile } from '../artifacts/atomic-file.js';
import { PipelineError } from '../contracts/pipeline-error.js';
import type { Recipe } from '../contracts/recipe.js';

/**
 * Absolute path of a data file that a recipe names: as it is, else below the working directory, else below the project.
 *
 * @throws PipelineError DataInvalid that lists where it was looked for
 */
export function resolveLocalFile(name: string, projectRoot: string): string {
  const candidates = isAbsolute(name) ? [name] : [...new Set([resolve(name), resolve(projectRoot, name)])];
  const found = candidates.find((path) => existsSync(path));
  if (found !== undefined) return found;
  const cure =
    'Correct the path under "data.files" in the recipe, or name the Hugging Face "repo" and "revision" it is in';
  throw new PipelineError(
    'DataInvalid',
    `the data file ${name} is missing (looked for ${candidates.join(', ')}). ${cure}`,
    {
      where: candidates[0] ?? name,
      cure,
    }
  );
}

/**
 * SHA-256 of every local data file a recipe uses, by the name the recipe gives it: what a stage that is to be reused must
 * depend on besides the recipe. Empty when the data are generated or pinned in a hub.
 *
 * @throws PipelineError DataInvalid when a file is missing
 */
export async function hashLocalSources(
  { data, evaluation }: Recipe,
  projectRoot: string
): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  if (data.files === undefined || data.repo !== undefined) return hashes;
  const lengths = evaluation.lengths.map((length) => data.files?.eval[String(length)]);
  for (const name of [data.files.train, data.files.dev, ...lengths]) {
    if (name !== undefined) hashes[name] = (await hashFile(resolveLocalFile(name, projectRoot))).sha256;
  }
  return hashes;
}
