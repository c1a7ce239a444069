import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { PipelineError } from '../contracts/pipeline-error.js';

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
