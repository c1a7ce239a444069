import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';

/**
 * Absolute path of a recipe's relative path: as seen from the worker's working directory, else from the package (so that the
 * shipped recipes work from anywhere).
 */
export function resolveInput(path: string, projectRoot: string): string {
  if (isAbsolute(path)) return path;
  const here = resolve(path);
  return existsSync(here) ? here : join(projectRoot, path);
}
