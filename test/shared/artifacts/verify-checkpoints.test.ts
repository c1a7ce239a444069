import { appendFile, mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newestCheckpoint, TRACKER_FILE } from '../../../engines/ray/checkpoints.js';
import { readManifest } from '../../../shared/artifacts/manifest.js';
import { RunStore } from '../../../shared/artifacts/run-store.js';
import type { VerifyCheck } from '../../../shared/artifacts/verify.js';
import { verifyCheckpoints } from '../../../shared/artifacts/verify/verify-checkpoints.js';
import { verifyFiles } from '../../../shared/artifacts/verify/verify-files.js';

const SAVES = 'arms/relax/checkpoints';
const FOLDER = `${SAVES}/iter_0000003`;
const LIST = `${FOLDER}.json`;
const SHARDS = ['__0_0.distcp', '__0_1.distcp'];

let root: string;
let run: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'memagent-checkpoints-'));
  run = join(root, 'run');
  await mkdir(join(run, FOLDER), { recursive: true });
  await writeFile(join(run, FOLDER, 'common.pt'), 'common');
  await writeFile(join(run, FOLDER, '.metadata'), SHARDS.join('\0'));
  for (const shard of SHARDS) await writeFile(join(run, FOLDER, shard), shard.repeat(100));
  await writeFile(join(run, SAVES, TRACKER_FILE), '3');
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** The manifest of a run that lists the checkpoint as it is now. */
async function list(change: (text: string) => string = (text) => text): Promise<void> {
  const { newest } = await newestCheckpoint(join(run, SAVES));
  const { step, files, bytes } = newest!;
  await writeFile(join(run, LIST), change(JSON.stringify({ step, files, bytes, hashed: false })));
  const store = await RunStore.open(root, 'run');
  const producer = { activity: 'closeArm', attempt: 1, codeVersion: 'test' };
  await store.adopt(LIST, { kind: 'checkpoint', inputs: [], producer });
  await store.writeManifest();
}

async function verify(): Promise<VerifyCheck> {
  const manifest = await readManifest(run);
  expect((await verifyFiles(run, manifest)).problems).toEqual([]);
  return await verifyCheckpoints(run, manifest);
}

describe('a framework’s checkpoint whose files were listed when it was complete', () => {
  it('passes as long as every file has its size', async () => {
    await list();
    expect(await verify()).toMatchObject({ checked: 4, problems: [] });
  });

  it('is found out with a shard cut, a shard grown, and a file missing, each by name', async () => {
    await list();
    await truncate(join(run, FOLDER, SHARDS[0]!), 1_199);
    await appendFile(join(run, FOLDER, SHARDS[1]!), 'x');
    await rm(join(run, FOLDER, 'common.pt'));
    expect((await verify()).problems).toEqual([
      `${FOLDER}/${SHARDS[0]} has 1199 bytes, 1200 were saved.`,
      `${FOLDER}/${SHARDS[1]} has 1201 bytes, 1200 were saved.`,
      `${FOLDER}/common.pt is missing.`,
    ]);
  });

  it('may be gone as a whole, as from a copy for a reviewer: that is said, and nothing counts as checked', async () => {
    await list();
    await rm(join(run, FOLDER), { recursive: true });
    expect(await verify()).toMatchObject({
      checked: 0,
      problems: [],
      notes: [`${FOLDER} is not here: the sizes of its 4 files were not checked.`],
    });
  });

  it('needs a list that names files', async () => {
    await list(() => '{"step":3}');
    expect((await verify()).problems).toEqual([`${LIST}: it lists no files of a checkpoint`]);
  });
});
