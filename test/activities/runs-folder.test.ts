import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureRunsFolder } from '../../activities/runs-folder.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-runs-folder-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the folder of all runs', () => {
  it('is made with its parents, and may be there already', async () => {
    const root = join(folder, 'a', 'b', 'runs');
    await ensureRunsFolder(root);
    await ensureRunsFolder(root);
    expect((await stat(root)).isDirectory()).toBe(true);
  });

  it('is refused as an error of the recipe when a file is in its way', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    for (const root of [file, join(file, 'runs')])
      await expect(ensureRunsFolder(root)).rejects.toMatchObject({
        type: 'RecipeInvalid',
        details: { where: root, problems: [expect.stringMatching(/^artifacts: .*file/)] },
      });
  });

  it.skipIf(process.platform !== 'linux')('is refused where the system lets nobody make a folder', async () => {
    await expect(ensureRunsFolder('/proc/memagent/runs')).rejects.toMatchObject({ type: 'RecipeInvalid' });
  });
});
