import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { modelFolder } from '../../activities/model-folder.js';
import { packageRoot } from '../../shared/runtime/entry.js';
import { LAPTOP, temporaryFolder } from '../engines/embedded/support.js';
import { HubServer, REVISION } from '../shared/data/hub-server.js';

let home: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  home = await temporaryFolder();
});
afterEach(() => home.remove());

const bytes = (text: string): Buffer => Buffer.from(text);

async function withHub(id: string, names: string[], body: (hub: HubServer) => Promise<void>): Promise<void> {
  const files = Object.fromEntries(
    names.map((name) => [name, { bytes: bytes(name.repeat(5_000)), lfs: name.endsWith('.safetensors') }])
  );
  const hub = await new HubServer({ type: 'models', id }, files).start();
  try {
    await body(hub);
  } finally {
    await hub.stop();
  }
}

const options = (hub: HubServer): Parameters<typeof modelFolder>[2] => ({
  env: { MEMAGENT_HOME: home.path, HF_ENDPOINT: hub.endpoint },
  retry: { attempts: 4, baseDelayMs: 1, maxDelayMs: 4 },
});

describe('the folder of a recipe’s model', () => {
  it('is the path that the recipe gives, also beside an id', async () => {
    const model = { path: 'models/laptop', id: 'Qwen/Qwen3-4B', revision: REVISION };
    expect(await modelFolder({ model }, packageRoot())).toBe(LAPTOP);
  });

  it('is a snapshot of the pinned revision with all shards, gone on with after a cut, and fetched once', async () => {
    const model = { id: 'test/sharded', revision: REVISION };
    const shards = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
    const names = [...shards, 'model.safetensors.index.json', 'config.json', 'tokenizer.json', 'merges.txt'];
    await withHub(model.id, [...names, 'pytorch_model.bin', 'README.md'], async (hub) => {
      hub.faults.cutAfter.push(50_000);
      const folder = await modelFolder({ model }, packageRoot(), options(hub));
      expect(folder.startsWith(join(home.path, 'hub'))).toBe(true);
      expect((await readdir(folder)).sort()).toEqual(names.sort());
      expect(hub.seen.some(({ range }) => range !== undefined)).toBe(true);
      const asked = hub.seen.length;
      expect(await modelFolder({ model }, packageRoot(), options(hub))).toBe(folder);
      expect(hub.seen.length).toBe(asked);
    });
  });

  it('is refused without safetensors', async () => {
    const model = { id: 'test/old', revision: REVISION };
    await withHub(model.id, ['pytorch_model.bin', 'config.json'], async (hub) => {
      await expect(modelFolder({ model }, packageRoot(), options(hub))).rejects.toMatchObject({
        type: 'PinMismatch',
        message: expect.stringContaining('has no safetensors') as string,
      });
    });
  });
});
