import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Root folder of the package: the nearest folder above this file that holds the package's own package.json. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const file = join(folder, 'package.json');
    if (existsSync(file) && readFileSync(file, 'utf8').includes('"memagent-pipeline"')) return folder;
    const parent = dirname(folder);
    if (parent === folder)
      throw new Error('the package root of memagent-pipeline was not found above ' + fileURLToPath(import.meta.url));
    folder = parent;
  }
}

/**
 * Absolute path of a compiled entry file for a child process or worker thread, e.g. `engines/embedded/main.js`.
 *
 * @throws Error that names the build command when the file is missing
 */
export function entryPath(compiled: string): string {
  const path = join(packageRoot(), 'dist', compiled);
  if (!existsSync(path)) throw new Error(`${path} is missing: run \`make build\` first`);
  return path;
}
