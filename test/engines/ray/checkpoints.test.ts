import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newestCheckpoint, stepFolder, TRACKER_FILE } from '../../../engines/ray/checkpoints.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'memagent-checkpoints-'));
});
afterEach(() => rm(dir, { recursive: true }));

/** A checkpoint in Megatron's layout; `change` replaces, or with null leaves out, files of it. */
async function checkpoint(step: number, change: Record<string, string | null> = {}): Promise<string> {
  const path = join(dir, stepFolder(step));
  await mkdir(path, { recursive: true });
  const files: Record<string, string | null> = {
    'common.pt': 'PK',
    '.metadata': `\x80\x04\x95 ${'x'.repeat(70_000)} __0_0.distcp\x94 and __1_0.distcp\x94.`,
    'metadata.json': '{"sharded_backend": "torch_dist"}',
    '__0_0.distcp': 'shard',
    '__1_0.distcp': 'shard',
    ...change,
  };
  for (const [name, text] of Object.entries(files))
    if (text !== null) await writeFile(join(path, name), text, 'latin1');
  return path;
}

const tracker = (text: string) => writeFile(join(dir, TRACKER_FILE), text);

describe('the newest complete checkpoint of a job', () => {
  it('is none where nothing was saved, nor the folder made', async () => {
    expect(await newestCheckpoint(dir)).toEqual({ newest: undefined, skipped: [] });
    expect(await newestCheckpoint(join(dir, 'never'))).toEqual({ newest: undefined, skipped: [] });
  });

  it('is the one that the tracker file names, with its files and sizes', async () => {
    await checkpoint(4);
    const path = await checkpoint(9);
    await tracker('9\n');
    const { newest, skipped } = await newestCheckpoint(dir);
    expect(skipped).toEqual([]);
    expect(newest).toMatchObject({ step: 9, path });
    expect(newest?.files.map((file) => file.path)).toEqual([
      '.metadata',
      '__0_0.distcp',
      '__1_0.distcp',
      'common.pt',
      'metadata.json',
    ]);
    expect(newest?.bytes).toBe(newest?.files.reduce((total, { bytes }) => total + bytes, 0));
  });

  it('is not one whose save never ended: newer than the tracker says, or without a tracker', async () => {
    await checkpoint(4);
    const torn = await checkpoint(9);
    await tracker('4');
    const { newest, skipped } = await newestCheckpoint(dir);
    expect(newest?.step).toBe(4);
    expect(skipped).toEqual([{ path: torn, reason: expect.stringContaining('newer than step 4') as string }]);
    await rm(join(dir, TRACKER_FILE));
    expect((await newestCheckpoint(dir)).newest).toBeUndefined();
  });

  it('is never the converted base model', async () => {
    await mkdir(join(dir, 'release'));
    await tracker('release');
    expect(await newestCheckpoint(dir)).toEqual({ newest: undefined, skipped: [] });
  });

  it.each([
    [{ 'common.pt': null }, 'common.pt is missing'],
    [{ '.metadata': '' }, '.metadata is empty'],
    [{ '__1_0.distcp': '' }, '__1_0.distcp is empty'],
    [{ '__1_0.distcp': null }, '__1_0.distcp is missing, which .metadata names'],
    [{ '__0_0.distcp': null, '__1_0.distcp': null }, 'it has no shards (*.distcp)'],
  ])('is the one before, when the newest is torn: %o', async (change, reason) => {
    await checkpoint(4);
    const torn = await checkpoint(9, change);
    await tracker('9');
    expect(await newestCheckpoint(dir)).toMatchObject({ newest: { step: 4 }, skipped: [{ path: torn, reason }] });
  });

  it('has its place in the data, where the framework keeps one', async () => {
    await checkpoint(4);
    await checkpoint(9);
    await tracker('9');
    await mkdir(join(dir, 'rollout'));
    await writeFile(join(dir, 'rollout', 'global_dataset_state_dict_4.pt'), 'x');
    const { newest, skipped } = await newestCheckpoint(dir);
    expect(newest?.step).toBe(4);
    expect(skipped[0]?.reason).toContain('place in the data');
  });

  it('is looked for beside foreign files and folders', async () => {
    await checkpoint(4);
    await tracker('11');
    await writeFile(join(dir, stepFolder(11)), 'a file');
    await mkdir(join(dir, 'iter_latest'));
    await mkdir(join(dir, stepFolder(10)));
    const { newest, skipped } = await newestCheckpoint(dir);
    expect(newest?.step).toBe(4);
    expect(skipped.map(({ reason }) => reason)).toEqual(['it is no folder', 'common.pt is missing']);
  });
});
