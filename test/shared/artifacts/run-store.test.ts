import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeUnfinished } from '../../../shared/artifacts/atomic-file.js';
import { hashFileCached, stayKnown } from '../../../shared/artifacts/hash-cache.js';
import { readManifest } from '../../../shared/artifacts/manifest.js';
import { runDirectoryName } from '../../../shared/artifacts/run-paths.js';
import { RunStore } from '../../../shared/artifacts/run-store.js';
import type { Description } from '../../../shared/artifacts/sidecar.js';
import { hashJson } from '../../../shared/contracts/canonical-json.js';
import { entryPath } from '../../../shared/runtime/entry.js';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'memagent-store-'));
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const producer = { activity: 'generateRollouts', attempt: 2, codeVersion: 'rollout-1' };
const described = (kind: Description['kind'], inputs: Description['inputs'] = []): Description => ({
  kind,
  inputs,
  producer,
});

async function makeFolder(path: string, files: Record<string, string>): Promise<string> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(path, name, '..'), { recursive: true });
    await writeFile(join(path, name), text);
  }
  return path;
}

describe('publishing', () => {
  it('gives a reference that find gives again, and one copy on the disk for equal bytes', async () => {
    const run = await RunStore.open(root, 'run-1');
    const ref = await run.publish('arms/relax/reward.csv', 'step,reward\n0,0.5\n', described('reward-series'));
    expect(ref).toEqual({
      path: 'arms/relax/reward.csv',
      sha256: '79bf43a6152632cc7efa69f4b642dc07a09550f8801682ceab6a248234ef4433',
      bytes: 18,
      kind: 'reward-series',
    });
    expect(await run.find('arms/relax/reward.csv')).toEqual(ref);
    const again = await run.publish('copy.csv', 'step,reward\n0,0.5\n', described('reward-series'));
    expect(again.sha256).toBe(ref.sha256);
    const object = join(root, '.store/sha256/79', ref.sha256);
    const inodes = [run.path('copy.csv'), run.path(ref.path), object].map(async (path) => (await stat(path)).ino);
    expect(await readFile(object, 'utf8')).toBe('step,reward\n0,0.5\n');
    expect(new Set(await Promise.all(inodes)).size).toBe(1);
  });

  it('records inputs and producer beside the artifact', async () => {
    const run = await RunStore.open(root, 'run-1');
    const input = await run.publish('a.json', '{}', described('recipe'));
    await run.publish('b/c.json', '[]', described('dataset', [input]));
    expect(await run.describe('b/c.json')).toMatchObject({
      inputs: [{ path: 'a.json', sha256: input.sha256 }],
      producer,
    });
    expect(JSON.parse(await readFile(run.path('.meta/b/c.json.json'), 'utf8'))).toMatchObject({ path: 'b/c.json' });
  });

  it('moves a finished temporary file, and leaves no temporary name anywhere', async () => {
    const run = await RunStore.open(root, 'run-1');
    await writeFile(join(root, 'finished'), 'text');
    await run.publish('data/train.jsonl', { file: join(root, 'finished') }, described('dataset'));
    await run.publish('data/train.jsonl', 'text', described('dataset'));
    expect(await readFile(run.path('data/train.jsonl'), 'utf8')).toBe('text');
    const names = await readdir(root, { recursive: true });
    expect(names.filter((name) => name.includes('partial') || name === 'finished')).toEqual([]);
  });

  it('takes the newer bytes when a path is published again', async () => {
    const run = await RunStore.open(root, 'run-1');
    await run.publish('report.html', 'old', described('report'));
    const ref = await run.publish('report.html', 'new', described('report'));
    expect(await run.find('report.html')).toEqual(ref);
    expect(await readFile(run.path('report.html'), 'utf8')).toBe('new');
  });

  it('does not find what was changed, cut, removed, or never finished', async () => {
    const run = await RunStore.open(root, 'run-1');
    const path = run.path('rows.parquet');
    expect(await run.find('rows.parquet')).toBeUndefined();
    await run.publish('rows.parquet', 'good bytes', described('rows'));
    const { atime, mtime } = await stat(path);
    await writeFile(path, 'evil bytes');
    await utimes(path, atime, mtime);
    expect(await run.find('rows.parquet')).toBeUndefined();
    await run.publish('rows.parquet', 'good bytes', described('rows'));
    expect(await run.find('rows.parquet')).toBeDefined();
    expect(
      await readFile(
        join(
          root,
          '.store/sha256',
          (await run.expect('rows.parquet')).sha256.slice(0, 2),
          (await run.expect('rows.parquet')).sha256
        ),
        'utf8'
      )
    ).toBe('good bytes');
    await rm(path);
    await expect(run.expect('rows.parquet')).rejects.toMatchObject({ type: 'StorageFailed', details: { where: path } });
    await writeFile(path, 'good bytes');
    await writeFile(run.path('.meta/rows.parquet.json'), '{"path": "rows.par');
    expect(await run.find('rows.parquet')).toBeUndefined();
  });
});

describe('a folder artifact', () => {
  const files = { 'config.json': '{}', 'model.safetensors': 'weights', 'tokenizer/vocab.txt': 'a b c' };

  it('has a hash of names and contents only', async () => {
    const run = await RunStore.open(root, 'run-1');
    await makeFolder(run.path('arms/relax/hf'), files);
    const ref = await run.adopt('arms/relax/hf', described('hf-model'));
    expect(ref.bytes).toBe(14);
    const other = await RunStore.open(root, 'run-2');
    const moved = await other.publish(
      'hf',
      { folder: await makeFolder(join(root, 'made'), files) },
      described('hf-model')
    );
    expect(moved.sha256).toBe(ref.sha256);
    await makeFolder(other.path('renamed'), {
      'config2.json': '{}',
      'model.safetensors': 'weights',
      'tokenizer/vocab.txt': 'a b c',
    });
    expect((await other.adopt('renamed', described('hf-model'))).sha256).not.toBe(ref.sha256);
  });

  it('is not found when a file of it is changed, missing or added', async () => {
    const run = await RunStore.open(root, 'run-1');
    const folder = run.path('checkpoint');
    const build = async () => {
      await rm(folder, { recursive: true, force: true });
      await makeFolder(folder, files);
    };
    await build();
    const ref = await run.adopt('checkpoint', described('checkpoint'));
    await writeFile(join(folder, 'config.json'), '[]');
    expect(await run.find('checkpoint')).toBeUndefined();
    await build();
    expect(await run.find('checkpoint')).toEqual(ref);
    await rm(join(folder, 'tokenizer/vocab.txt'));
    expect(await run.find('checkpoint')).toBeUndefined();
    await build();
    await writeFile(join(folder, 'extra'), '');
    expect(await run.find('checkpoint')).toBeUndefined();
  });
});

describe('paths', () => {
  it.each(['../x', '/etc/passwd', 'a/../../x', 'a//b', '', 'a/./b', 'a\\b', 'a\0b', '..'])(
    'refuses %j as a path of the run',
    async (relative) => {
      const run = await RunStore.open(root, 'run-1');
      expect(() => run.path(relative)).toThrow(/not a path within a run/);
      await expect(run.publish(relative, '', described('log'))).rejects.toMatchObject({ type: 'StorageFailed' });
    }
  );

  it.each(['.meta/x.json', '.engines/log', 'manifest.json'])('refuses to publish over %s', async (relative) => {
    const run = await RunStore.open(root, 'run-1');
    await expect(run.publish(relative, '', described('log'))).rejects.toMatchObject({ type: 'StorageFailed' });
  });

  it('keeps every pipeline id inside the root, each in a folder of its own', () => {
    expect(runDirectoryName('my-run_1.2')).toBe('my-run_1.2');
    const ids = [
      '../../etc',
      '/etc',
      '.',
      '..',
      '.store',
      'a/b',
      'a-b',
      'a b',
      'ä',
      '\0',
      '-x',
      'x'.repeat(300),
      '💥',
      'a\nb',
    ];
    const names = ids.map(runDirectoryName);
    expect(new Set(names).size).toBe(ids.length);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);
    expect(() => runDirectoryName('')).toThrow(/empty/);
  });

  it('names the folder when there is no permission or a file is in the way', async () => {
    await writeFile(join(root, 'file'), '');
    await expect(RunStore.open(join(root, 'file'), 'x')).rejects.toMatchObject({
      type: 'StorageFailed',
      message: expect.stringContaining(join(root, 'file', 'x')) as string,
    });
    const run = await RunStore.open(root, 'run-1');
    await writeFile(run.path('data'), '');
    await expect(run.publish('data/x.json', '{}', described('dataset'))).rejects.toMatchObject({
      type: 'StorageFailed',
      message: expect.stringContaining(run.path('data/x.json')) as string,
    });
  });
});

describe('the manifest', () => {
  it('lists every file sorted, with who made it, and the same bytes each time', async () => {
    const run = await RunStore.open(root, 'run-1');
    const recipe = await run.publish('recipe.json', '{}', described('recipe'));
    await run.publish('z.csv', 'z', described('reward-series', [recipe]));
    await makeFolder(run.path('arms/relax/hf'), { 'config.json': '{}', 'model.safetensors': 'w' });
    const folder = await run.adopt('arms/relax/hf', described('hf-model', [recipe]));
    await writeFile(run.path('stray.txt'), 'nobody');
    await makeFolder(run.path('.engines/relax'), { 'engine.log': 'not listed' });
    await writeFile(run.path('half.parquet.partial-12-0a1b2c3d'), 'not listed');
    await symlink('/etc/hostname', run.path('link'));
    const ref = await run.writeManifest();
    const manifest = await readManifest(run.directory);
    expect(manifest.files.map(({ path, kind, producer: by }) => [path, kind, by?.activity ?? null])).toEqual([
      ['arms/relax/hf/config.json', 'hf-model', 'generateRollouts'],
      ['arms/relax/hf/model.safetensors', 'hf-model', 'generateRollouts'],
      ['recipe.json', 'recipe', 'generateRollouts'],
      ['stray.txt', 'log', null],
      ['z.csv', 'reward-series', 'generateRollouts'],
    ]);
    expect(manifest.folders).toEqual([
      { ...folder, inputs: [{ path: 'recipe.json', sha256: recipe.sha256 }], producer, fileCount: 2 },
    ]);
    expect(manifest.files[4]).toMatchObject({ inputs: [{ path: 'recipe.json', sha256: recipe.sha256 }] });
    expect(await run.writeManifest()).toEqual(ref);
  });

  it('does not say that an activity made what was changed afterwards', async () => {
    const run = await RunStore.open(root, 'run-1');
    await run.publish('a.csv', 'good', described('reward-series'));
    await writeFile(run.path('a.csv'), 'evil');
    await run.writeManifest();
    expect((await readManifest(run.directory)).files).toMatchObject([{ path: 'a.csv', producer: null }]);
  });
});

describe('damage after publication', () => {
  it('to one file shows in every artifact with equal bytes, and all are healed once one was made anew', async () => {
    const run = await RunStore.open(root, 'run-1');
    for (const arm of ['relax', 'vime']) {
      await makeFolder(run.path(`${arm}/iter_0`), { 'model.safetensors': 'weights', [`${arm}.json`]: arm });
      await run.adopt(`${arm}/iter_0`, described('checkpoint'));
    }
    const before = await run.describe('relax/iter_0');
    // In place, as a disk does it: the other arm's file is the same file.
    await writeFile(run.path('vime/iter_0/model.safetensors'), 'wEights');
    expect(await run.heal()).toEqual(['relax/iter_0', 'vime/iter_0']);
    await rm(run.path('vime/iter_0'), { recursive: true });
    await makeFolder(run.path('vime/iter_0'), { 'model.safetensors': 'weights', 'vime.json': 'vime' });
    await run.adopt('vime/iter_0', described('checkpoint'));
    expect(await run.heal()).toEqual([]);
    expect(await run.describe('relax/iter_0')).toEqual(before);
    expect(await readFile(run.path('relax/iter_0/model.safetensors'), 'utf8')).toBe('weights');
  });

  it('is healed from the store when a file was replaced or removed, and changes nothing that is whole', async () => {
    const run = await RunStore.open(root, 'run-1');
    for (const name of ['a.csv', 'b.csv', 'c.csv']) await run.publish(name, name, described('reward-series'));
    await rm(run.path('a.csv'));
    await rm(run.path('b.csv'));
    await writeFile(run.path('b.csv'), 'evil');
    expect(await run.heal()).toEqual([]);
    for (const name of ['a.csv', 'b.csv', 'c.csv']) expect(await readFile(run.path(name), 'utf8')).toBe(name);
  });
});

describe('a finished stage', () => {
  const parts = { stage: 'train', seed: 1 };
  const key = hashJson(parts);

  async function finishedStage(): Promise<RunStore> {
    const run = await RunStore.open(root, 'first');
    await makeFolder(run.path('hf'), { 'config.json': '{}', 'sub/model.safetensors': 'w' });
    const outputs = [
      await run.publish('arms/relax/reward.csv', 'rewards', described('reward-series')),
      await run.adopt('hf', described('hf-model')),
    ];
    await run.recordStage({ key, stage: 'train:relax', parts, outputs, facts: { steps: 2 } });
    return run;
  }

  it('is found by another run, with its files linked in and its origin named', async () => {
    await finishedStage();
    const second = await RunStore.open(root, 'second');
    const found = await second.lookupStage(key);
    expect(found).toMatchObject({ key, stage: 'train:relax', pipelineId: 'first', parts, facts: { steps: 2 } });
    for (const ref of found?.outputs ?? []) expect(await second.find(ref.path)).toEqual(ref);
    expect(await second.describe('hf')).toMatchObject({ reusedFrom: 'first', producer });
    expect(await readFile(second.path('hf/sub/model.safetensors'), 'utf8')).toBe('w');
  });

  it('is found again after the first run was deleted, from the store', async () => {
    const first = await finishedStage();
    await rm(first.directory, { recursive: true });
    const second = await RunStore.open(root, 'second');
    expect((await second.lookupStage(key))?.pipelineId).toBe('first');
    expect(await readFile(second.path('arms/relax/reward.csv'), 'utf8')).toBe('rewards');
  });

  it('is not found when a stored file was damaged, and nothing of it is put into the run', async () => {
    const first = await finishedStage();
    await writeFile(first.path('hf/config.json'), '[]');
    const second = await RunStore.open(root, 'second');
    expect(await second.lookupStage(key)).toBeUndefined();
    expect(await readdir(second.directory)).toEqual(['.meta']);
  });

  it('replaces a damaged file of the same run', async () => {
    const first = await finishedStage();
    await rm(first.path('arms/relax/reward.csv'));
    await writeFile(first.path('arms/relax/reward.csv'), 'evil');
    expect(await first.lookupStage(key)).toBeDefined();
    expect(await readFile(first.path('arms/relax/reward.csv'), 'utf8')).toBe('rewards');
    expect((await first.describe('arms/relax/reward.csv'))?.reusedFrom).toBeUndefined();
  });

  it('is unknown for another key, a torn record, and is refused for what is no key', async () => {
    const run = await finishedStage();
    expect(await run.lookupStage(hashJson({ other: 1 }))).toBeUndefined();
    await writeFile(join(root, '.stages', `${key}.json`), '{"key": "');
    expect(await run.lookupStage(key)).toBeUndefined();
    await expect(run.lookupStage('../x')).rejects.toMatchObject({ type: 'StorageFailed' });
  });
});

describe('several processes', () => {
  it('publish the same artifacts at the same time, and every one is whole', async () => {
    const program = new URL('../../fixtures/artifacts/publish.mjs', import.meta.url).pathname;
    const module = entryPath('shared/artifacts/run-store.js');
    const one = (): Promise<string> =>
      new Promise((done, failed) => {
        const child = spawn(process.execPath, [program, module, root, '20'], { stdio: ['ignore', 'inherit', 'pipe'] });
        let errors = '';
        child.stderr.on('data', (piece: Buffer) => (errors += piece.toString()));
        child.on('error', failed);
        child.on('close', (code) => done(code === 0 ? '' : errors));
      });
    expect(await Promise.all([one(), one(), one(), one()])).toEqual(['', '', '', '']);
    const run = await RunStore.open(root, 'shared-run');
    for (let round = 0; round < 20; round += 1) await run.expect(`arms/relax/rollouts/step-${round}.txt`);
    const names = await readdir(root, { recursive: true });
    expect(names.filter((name) => name.includes('partial'))).toEqual([]);
  });
});

describe('hashes that are remembered', () => {
  it('are not taken over for bytes that were written while the file got another name', async () => {
    const path = join(root, 'file');
    await writeFile(path, 'good');
    await utimes(path, 1, 1);
    const good = await hashFileCached(path);
    await stayKnown(path, () => writeFile(path, 'evil'));
    expect((await hashFileCached(path)).sha256).not.toBe(good.sha256);
  });
});

describe('unfinished files', () => {
  it('that a killed process left can be removed, and nothing else goes', async () => {
    const run = await RunStore.open(root, 'run-1');
    await run.publish('a.json', '{}', described('recipe'));
    await writeFile(run.path('a.json.partial-12-0a1b2c3d'), 'half');
    await makeFolder(run.path('iter_1.partial-12-0a1b2c3d'), { 'model.safetensors': 'half' });
    await removeUnfinished(run.directory);
    expect((await readdir(run.directory)).sort()).toEqual(['.meta', 'a.json']);
  });
});
