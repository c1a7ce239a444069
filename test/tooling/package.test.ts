import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { entryPath, packageRoot } from '../../shared/runtime/entry.js';

vi.setConfig({ testTimeout: 120_000 });

/** Files that users give to a cluster, relative to the package's compiled code and to its source. */
const PYTHON = ['engines/ray/bridge/memagent_bridge.py', 'engines/ray/preflight/preflight.py'];

describe('the package', () => {
  it.each(PYTHON)('has %s beside its compiled code after a build, as it is in the source', async (program) => {
    const built = await readFile(entryPath(program), 'utf8');
    expect(built).toBe(await readFile(join(packageRoot(), program), 'utf8'));
  });

  it('takes everything along that runs from it', async () => {
    const options = { cwd: packageRoot(), maxBuffer: 16 * 1024 * 1024 };
    const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], options);
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    const names = files.map(({ path }) => path);
    expect(names).toEqual(
      expect.arrayContaining([
        ...PYTHON.map((program) => `dist/${program}`),
        'dist/cli/main.js',
        'dist/workflow-bundle.js',
        'docs/launch.md',
        'models/laptop/model.safetensors',
        'recipes/laptop.json',
        'shared/report/assets/report.css',
      ])
    );
    expect(names.filter((name) => /^(?:test|runs)\//.test(name))).toEqual([]);
  });
});
