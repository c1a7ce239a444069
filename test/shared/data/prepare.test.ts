import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recipeSchema } from '../../../shared/contracts/recipe-schema.js';
import type { Recipe } from '../../../shared/contracts/recipe.js';
import { hashLocalSources } from '../../../shared/data/local-source.js';
import { prepareData, type PrepareProgress } from '../../../shared/data/prepare.js';
import { HubServer, REVISION } from './hub-server.js';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'memagent-prepare-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

function recipe(data: object, evaluation: object = {}): Recipe {
  const parsed = recipeSchema.parse({
    name: 'test',
    engine: 'embedded',
    model: { path: 'models/laptop' },
    data,
    arms: { relax: { flavour: 'relax' } },
    evaluation,
  });
  return { ...parsed, onHalt: 'fail' } as Recipe;
}

const GENERATE = { generate: { seed: 7, trainItems: 20, devItems: 9, trainChunks: 4, factsPerChunk: 8 } };
const LENGTHS = { lengths: [4, 16], items: 5, devItems: 6 };

async function hashes(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile()
  )) {
    const path = join(name.parentPath, name.name);
    found[path.slice(folder.length + 1)] = createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
  }
  return found;
}

async function lines(path: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(path, 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('prepareData with generated data', () => {
  it('writes every data set, limited to the items the recipe evaluates', async () => {
    const prepared = await prepareData(recipe(GENERATE, LENGTHS), join(root, 'data'), { projectRoot: root });
    expect(prepared.files.map(({ name, path, rows, skipped }) => [name, path, rows, skipped])).toEqual([
      ['train', 'data/train.jsonl', 20, 0],
      ['dev', 'data/dev.jsonl', 6, 0],
      ['eval_4', 'data/eval_4.jsonl', 5, 0],
      ['eval_16', 'data/eval_16.jsonl', 5, 0],
    ]);
    expect(prepared.sources).toEqual([
      'data/sources/train.parquet',
      'data/sources/dev.parquet',
      'data/sources/eval_4.json',
      'data/sources/eval_16.json',
    ]);
    const [first] = await lines(join(root, 'data/eval_16.jsonl'));
    const metadata = first?.['metadata'] as { context: string; ground_truth: string[]; num_docs: number };
    expect(metadata.context.split(';\n')).toHaveLength(16 * 8);
    expect(metadata.context.endsWith(';')).toBe(true);
    expect(metadata.ground_truth).toEqual([first?.['label']]);
    expect(metadata.num_docs).toBe(16);
  });

  it('gives the same bytes in every file when it is done again, also over a torn earlier result', async () => {
    const first = await prepareData(recipe(GENERATE, LENGTHS), join(root, 'a/data'), { projectRoot: root });
    const before = await hashes(join(root, 'a'));
    await writeFile(join(root, 'a/data/train.jsonl'), 'half a li');
    const second = await prepareData(recipe(GENERATE, LENGTHS), join(root, 'a/data'), { projectRoot: root });
    expect(second).toEqual(first);
    expect(await hashes(join(root, 'a'))).toEqual(before);
    await prepareData(recipe(GENERATE, LENGTHS), join(root, 'b/data'), { projectRoot: '/somewhere/else' });
    expect(await hashes(join(root, 'b'))).toEqual(before);
  });

  it('records bytes, hashes and row counts of source and result in the manifest', async () => {
    const prepared = await prepareData(recipe(GENERATE, LENGTHS), join(root, 'data'), { projectRoot: root });
    const manifest = JSON.parse(await readFile(join(root, prepared.manifest), 'utf8')) as {
      generated: object;
      artifacts: {
        name: string;
        filename: string;
        sha256: string;
        size_bytes: number;
        converted: Record<string, unknown>;
      }[];
    };
    const found = await hashes(root);
    expect(manifest.generated).toEqual(GENERATE.generate);
    expect(manifest.artifacts.map(({ name }) => name)).toEqual(['train', 'dev', 'eval_4', 'eval_16']);
    for (const { filename, sha256, converted } of manifest.artifacts) {
      expect(found[filename]).toBe(sha256);
      expect(found[converted['path'] as string]).toBe(converted['sha256']);
    }
    expect(manifest.artifacts[1]?.converted).toMatchObject({
      written_rows: 6,
      skipped_rows: 0,
      read_rows: 6,
      limit: 6,
    });
  });

  it('tells how far it is, by data set and step', async () => {
    const seen: PrepareProgress[] = [];
    await prepareData(recipe(GENERATE, LENGTHS), join(root, 'data'), {
      projectRoot: root,
      onProgress: (at) => seen.push(at),
    });
    expect(seen.filter(({ step }) => step === 'generate').at(-1)).toEqual({
      dataset: 'eval_16',
      step: 'generate',
      done: 39,
      total: 39,
    });
  });

  it('stops at an abort and leaves no unfinished file behind', async () => {
    const aborting = new AbortController();
    const ports = { projectRoot: root, signal: aborting.signal, onProgress: () => aborting.abort(new Error('stop')) };
    await expect(prepareData(recipe(GENERATE, LENGTHS), join(root, 'data'), ports)).rejects.toThrow('stop');
    expect(
      Object.keys(await hashes(root)).filter((name) => name.includes('.partial-') || name.endsWith('.jsonl'))
    ).toEqual([]);
  });
});

describe('prepareData with local files', () => {
  const row = (index: number) => ({ input: `q${index}`, answers: ['a'], context: 'c', num_docs: 1, index });
  const FILES = { files: { train: 'my/train.jsonl', dev: 'my/dev.json', eval: { '50': 'my/e.json' } } };

  async function put(): Promise<void> {
    await mkdir(join(root, 'my'));
    await writeFile(
      join(root, 'my/train.jsonl'),
      [0, 1, 2].map((index) => `${JSON.stringify(row(index))}\n`).join('') + '{"a":\n'
    );
    await writeFile(join(root, 'my/dev.json'), JSON.stringify({ a: row(0), b: { ...row(1), answers: [] } }));
    await writeFile(join(root, 'my/e.json'), JSON.stringify([row(0), row(1), row(2)]));
  }

  it('converts them from below the project folder and lists skipped rows with their reasons', async () => {
    await put();
    const prepared = await prepareData(recipe(FILES, { lengths: [50], items: 2 }), join(root, 'run/data'), {
      projectRoot: root,
    });
    expect(prepared.files.map(({ name, rows, skipped }) => [name, rows, skipped])).toEqual([
      ['train', 3, 1],
      ['dev', 1, 1],
      ['eval_50', 2, 0],
    ]);
    expect(prepared.sources).toEqual([]);
    const manifest = await readFile(join(root, 'run/data/manifest.json'), 'utf8');
    expect(JSON.parse(manifest)).toMatchObject({
      generated: null,
      artifacts: [
        {
          repo_id: null,
          resolved_revision: null,
          filename: 'my/train.jsonl',
          converted: {
            skipped: { total: 1, reasons: { 'not JSON': 1 }, first: [{ row: 4, line: 4, reason: 'not JSON' }] },
          },
        },
        { converted: { skipped: { reasons: { 'no answers': 1 }, first: [{ row: 2, reason: 'no answers' }] } } },
        { converted: { limit: 2, read_rows: 2 } },
      ],
    });
    expect(manifest).not.toContain(root);
  });

  it('names every place where a missing file was looked for', async () => {
    const failure = prepareData(recipe(FILES, { lengths: [50] }), join(root, 'run/data'), { projectRoot: root });
    await expect(failure).rejects.toMatchObject({
      type: 'DataInvalid',
      message: expect.stringContaining(join(root, 'my/train.jsonl')),
    });
  });

  it('can be told apart by their hashes before anything is converted', async () => {
    await put();
    const hash = async () => hashLocalSources(recipe(FILES, { lengths: [50] }), root);
    const before = await hash();
    expect(Object.keys(before)).toEqual(['my/train.jsonl', 'my/dev.json', 'my/e.json']);
    await writeFile(join(root, 'my/dev.json'), '[]');
    expect({ ...(await hash()), 'my/dev.json': before['my/dev.json'] }).toEqual(before);
    expect((await hash())['my/dev.json']).not.toBe(before['my/dev.json']);
    expect(await hashLocalSources(recipe(GENERATE), root)).toEqual({});
  });

  it('refuses a file whose SHA-256 is not the pinned one', async () => {
    await put();
    const pinned = recipe({ ...FILES, sha256: { 'dev.json': '0'.repeat(64) } }, { lengths: [50] });
    await expect(prepareData(pinned, join(root, 'run/data'), { projectRoot: root })).rejects.toMatchObject({
      type: 'PinMismatch',
      message: expect.stringMatching(
        /my\/dev\.json has SHA-256 [0-9a-f]{64}, but data\.sha256 of the recipe says 0{64}/
      ),
    });
  });

  it('refuses evaluation lengths that have no file', async () => {
    await put();
    const more = recipe(FILES, { lengths: [50, 200, 800] });
    await expect(prepareData(more, join(root, 'run/data'), { projectRoot: root })).rejects.toMatchObject({
      type: 'RecipeInvalid',
      details: { problems: [expect.stringContaining('length 200'), expect.stringContaining('length 800')] },
    });
  });

  it('refuses a data set without a usable row, says why, and writes nothing for it', async () => {
    await put();
    await writeFile(
      join(root, 'my/train.jsonl'),
      '{"input":"q","answers":["a"],"context":"  "}\n{"input":"q","context":"c"}\n7\n'
    );
    const failure = prepareData(recipe(FILES, { lengths: [50] }), join(root, 'run/data'), { projectRoot: root });
    await expect(failure).rejects.toMatchObject({
      type: 'DataInvalid',
      message: expect.stringMatching(/no usable row.*no answers.*no context.*not an object/),
      details: { problems: expect.arrayContaining(['row 3 (line 3): not an object: the row is of Python type int']) },
    });
    expect(await readdir(join(root, 'run/data'))).toEqual([]);
  });
});

describe('prepareData with a hub data set', () => {
  it('downloads each file at the pinned revision and records repository, revision and hash', async () => {
    const rows = Buffer.from(JSON.stringify([{ input: 'q', answers: ['a'], context: 'c', num_docs: 1, index: 0 }]));
    const server = await new HubServer(
      { type: 'datasets', id: 'owner/name' },
      {
        'train.json': { bytes: rows, lfs: true },
        'dev.json': { bytes: rows, lfs: false },
        'eval_50.json': { bytes: rows, lfs: true },
      }
    ).start();
    try {
      const files = { train: 'train.json', dev: 'dev.json', eval: { '50': 'eval_50.json' } };
      const pinned = recipe({ repo: 'owner/name', revision: REVISION, files }, { lengths: [50] });
      const env = { MEMAGENT_HOME: join(root, 'home'), HF_ENDPOINT: server.endpoint, HF_TOKEN: 'hf_secret' };
      const seen: PrepareProgress[] = [];
      const ports = {
        projectRoot: root,
        env,
        retry: { baseDelayMs: 1 },
        onProgress: (at: PrepareProgress) => void seen.push(at),
      };
      const prepared = await prepareData(pinned, join(root, 'data'), ports);
      expect(prepared).toMatchObject({
        sources: [],
        files: [{ name: 'train', rows: 1 }, { name: 'dev' }, { name: 'eval_50' }],
      });
      const manifest = await readFile(join(root, 'data/manifest.json'), 'utf8');
      const sha256 = createHash('sha256').update(rows).digest('hex');
      const { artifacts } = JSON.parse(manifest) as { artifacts: object[] };
      for (const artifact of artifacts) {
        expect(artifact).toMatchObject({
          repo_id: 'owner/name',
          resolved_revision: REVISION,
          size_bytes: rows.byteLength,
          sha256,
        });
      }
      expect(manifest).not.toContain('hf_secret');
      expect(seen).toContainEqual({
        dataset: 'train',
        step: 'download',
        done: rows.byteLength,
        total: rows.byteLength,
      });
      const requests = server.seen.length;
      expect(await prepareData(pinned, join(root, 'data'), ports)).toEqual(prepared);
      expect(server.seen).toHaveLength(requests);
    } finally {
      await server.stop();
    }
  });
});
