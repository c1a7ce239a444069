/** Puts the Python files that run on a cluster beside the compiled code: an installed package has only that. */
import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { packageRoot } from '../shared/runtime/entry.js';

const PROGRAMS = ['engines/ray/bridge/memagent_bridge.py', 'engines/ray/preflight/preflight.py'];

for (const program of PROGRAMS) {
  const target = join(packageRoot(), 'dist', program);
  await mkdir(dirname(target), { recursive: true });
  await copyFile(join(packageRoot(), program), target);
}
