import { copyFile, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyCheckpoint } from '../../../../engines/embedded/actor/checkpoint.js';
import { hashFile } from '../../../../shared/artifacts/atomic-file.js';
import { loadTokenizer } from '../../../../shared/tokenizer/tokenizer.js';
import { type RunningEngine, startTestEngine, stateHashes, trainOnce } from '../support.js';

let engine: RunningEngine;
let saved: string;

beforeAll(async () => {
  engine = await startTestEngine({ mode: 'actor', contextLength: 128 });
  await trainOnce(engine, 0);
  await trainOnce(engine, 1);
  saved = join(engine.folder, 'checkpoints/iter_0000001');
  await engine.client.saveCheckpoint({ dir: saved, extra: { data_cursor: 16 } });
});
afterAll(() => engine.stop());

async function hashesOf(dir: string): Promise<Record<string, string>> {
  const names = (await readdir(dir)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, (await hashFile(join(dir, name))).sha256] as const))
  );
}

/** A copy to spoil. */
async function copy(name: string): Promise<string> {
  const dir = join(engine.folder, name);
  await cp(saved, dir, { recursive: true });
  return dir;
}

describe('a checkpoint of the actor', () => {
  it('is a whole Hugging Face model with moments, counters and a manifest, and nothing is left beside it', async () => {
    expect((await readdir(saved)).sort()).toEqual([
      'checkpoint.json',
      'config.json',
      'generation_config.json',
      'model.safetensors',
      'optimizer.safetensors',
      'state.json',
      'tokenizer.json',
      'tokenizer_config.json',
    ]);
    expect(await readdir(join(saved, '..'))).toEqual(['iter_0000001']);
    expect(JSON.parse(await readFile(join(saved, 'state.json'), 'utf8'))).toEqual({
      data_cursor: 16,
      weights_version: 2,
      optimizer_step: 2,
    });
    expect((await loadTokenizer(saved)).vocabSize).toBe(512);
    expect(await verifyCheckpoint(saved)).toBe(2);
  });

  it('has the same bytes when the same state is saved again, elsewhere and over itself', async () => {
    const before = await hashesOf(saved);
    const again = join(engine.folder, 'elsewhere/iter_0000001');
    await engine.client.saveCheckpoint({ dir: again, extra: { data_cursor: 16 } });
    await engine.client.saveCheckpoint({ dir: saved, extra: { data_cursor: 16 } });
    expect(await hashesOf(again)).toEqual(before);
    expect(await hashesOf(saved)).toEqual(before);
    expect(await readdir(join(saved, '..'))).toEqual(['iter_0000001']);
  });

  it('goes on with the same bits as never having stopped, also in another process', async () => {
    const call = await trainOnce(engine, 2);
    const straight = await stateHashes(engine, 'straight');
    expect(await engine.client.loadCheckpoint({ dir: saved })).toEqual({ weights_version: 2, optimizer_step: 2 });
    await engine.client.trainStep(call);
    expect(await stateHashes(engine, 'restored')).toEqual(straight);
    const other = await startTestEngine({ mode: 'actor', contextLength: 128 });
    try {
      await other.client.loadCheckpoint({ dir: saved });
      await other.client.trainStep(call);
      expect(await stateHashes(other, 'other')).toEqual(straight);
    } finally {
      await other.stop();
    }
    await engine.client.loadCheckpoint({ dir: saved });
  });

  it('can be served as a model', async () => {
    const server = await startTestEngine({ modelDir: saved });
    try {
      expect((await server.get('/health_generate')).status).toBe(200);
    } finally {
      await server.stop();
    }
  });

  it.each([
    [
      'is torn',
      async (dir: string) => {
        const path = join(dir, 'optimizer.safetensors');
        await writeFile(path, (await readFile(path)).subarray(0, 100_000));
      },
      /optimizer.safetensors has 100000 bytes, expected/,
    ],
    [
      'was changed',
      async (dir: string) => {
        const path = join(dir, 'state.json');
        await writeFile(path, (await readFile(path, 'utf8')).replace('"weights_version": 2', '"weights_version": 3'));
      },
      /state.json was changed/,
    ],
    ['lacks a file', async (dir: string) => rm(join(dir, 'model.safetensors')), /model.safetensors is missing/],
    ['has no manifest', async (dir: string) => rm(join(dir, 'checkpoint.json')), /checkpoint.json cannot be read/],
    [
      'is of somebody else',
      async (dir: string) => copyFile(join(dir, 'config.json'), join(dir, 'checkpoint.json')),
      /not of a checkpoint of this engine/,
    ],
    [
      'names a file outside its folder',
      async (dir: string) => {
        const path = join(dir, 'checkpoint.json');
        await writeFile(path, (await readFile(path, 'utf8')).replace('"state.json"', '"../state.json"'));
      },
      /does not name state.json; ..\/state.json is missing/,
    ],
  ])('is refused when it %s, and the state that is held stays', async (name, spoil, message) => {
    const dir = await copy(name.replaceAll(' ', '-'));
    await spoil(dir);
    const before = await stateHashes(engine, `before ${name}`);
    const error = await engine.client.loadCheckpoint({ dir }).then(
      () => expect.fail('it was loaded'),
      (reason: unknown) => reason as Error
    );
    expect(error).toMatchObject({ type: 'CheckpointInvalid' });
    expect(error.message).toMatch(message);
    expect(await stateHashes(engine, `after ${name}`)).toEqual(before);
  });

  it('says which path could not be written, and leaves no unfinished folder', async () => {
    await writeFile(join(engine.folder, 'a-file'), '');
    await expect(
      engine.client.saveCheckpoint({ dir: join(engine.folder, 'a-file/iter_0000001') })
    ).rejects.toMatchObject({
      type: 'StorageFailed',
      message: expect.stringContaining('a-file/iter_0000001') as string,
    });
    await expect(engine.client.saveCheckpoint({ dir: 'relative' })).rejects.toThrow(/absolute path/);
  });
});
