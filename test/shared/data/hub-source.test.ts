import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HubSource } from '../../../shared/data/hub/hub-source.js';
import { PhiloxStream } from '../../../shared/random/philox.js';
import { HubServer, REVISION } from './hub-server.js';

const TOKEN = 'hf_secret_of_this_test';
const BIG = randomBytes(3_000_000);
const SMALL = Buffer.from('[{"input":"q"}]');

function randomBytes(count: number): Buffer {
  const draws = new PhiloxStream(1);
  return Buffer.from(Uint32Array.from({ length: count / 4 }, () => draws.nextWord()).buffer);
}

let home = '';
let server: HubServer;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'memagent-hub-'));
  server = await new HubServer(
    { type: 'datasets', id: 'owner/name' },
    { 'data/big file.parquet': { bytes: BIG, lfs: true }, 'eval_50.json': { bytes: SMALL, lfs: false } }
  ).start();
});
afterEach(async () => {
  await server.stop();
  await rm(home, { recursive: true, force: true });
});

function source(
  options: { token?: string; revision?: string; id?: string; attempts?: number; signal?: AbortSignal } = {}
): HubSource {
  const { token, revision = REVISION, id = 'owner/name', attempts = 4, signal } = options;
  return new HubSource(
    { type: 'dataset', id, revision },
    {
      env: { MEMAGENT_HOME: home, HF_ENDPOINT: server.endpoint, ...(token !== undefined && { HF_TOKEN: token }) },
      retry: { attempts, baseDelayMs: 1, maxDelayMs: 4 },
      ...(signal && { signal }),
    }
  );
}

const downloads = () => server.seen.filter(({ url }) => url.includes('/resolve/') || url.startsWith('/blob/'));

describe('a file of a hub data set', () => {
  it('arrives through a redirect to the content host, which never sees the token', async () => {
    server.token = TOKEN;
    const file = await source({ token: TOKEN }).fetchFile('data/big file.parquet');
    expect((await readFile(file.path)).equals(BIG)).toBe(true);
    expect(file.path.startsWith(join(home, 'hub', 'datasets--owner--name', REVISION))).toBe(true);
    const tokens = server.seen.map(({ host, authorization }) => [host, authorization]);
    expect(tokens).toEqual([
      ['hub', `Bearer ${TOKEN}`],
      ['hub', `Bearer ${TOKEN}`],
      ['cdn', undefined],
    ]);
  });

  it('is taken from the cache without any request the second time', async () => {
    const first = await source().fetchFile('eval_50.json');
    const before = server.seen.length;
    expect(await source().fetchFile('eval_50.json')).toEqual(first);
    expect(server.seen).toHaveLength(before);
  });

  it('is fetched again when the cached bytes have changed', async () => {
    const file = await source().fetchFile('data/big file.parquet');
    const damaged = Buffer.from(BIG);
    damaged[1_234_567] = (damaged[1_234_567] as number) ^ 0x40;
    await writeFile(file.path, damaged);
    const again = await source().fetchFile('data/big file.parquet');
    expect((await readFile(again.path)).equals(BIG)).toBe(true);
  });

  it('goes on from the byte where the connection was cut, with a new link each time', async () => {
    server.faults.cutAfter = [1_000_000, 500_000];
    const file = await source({ attempts: 2 }).fetchFile('data/big file.parquet');
    expect((await readFile(file.path)).equals(BIG)).toBe(true);
    const ranges = downloads()
      .filter(({ host }) => host === 'cdn')
      .map(({ range }) => range);
    expect(ranges).toHaveLength(3);
    expect(ranges[0]).toBeUndefined();
    const [second, third] = ranges.slice(1).map((range) => Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1]));
    expect(second).toBeGreaterThan(0);
    expect(third).toBeGreaterThan(second as number);
    expect(downloads().filter(({ host }) => host === 'hub')).toHaveLength(3);
  });

  it('goes on in a later process from what an earlier one left', async () => {
    server.faults.cutAfter = [700_000, 0, 0, 0, 0];
    await expect(source({ attempts: 3 }).fetchFile('data/big file.parquet')).rejects.toMatchObject({
      type: 'EngineUnavailable',
      message: expect.stringContaining('the download goes on from there'),
    });
    server.faults.cutAfter = [];
    const before = server.seen.length;
    const file = await source().fetchFile('data/big file.parquet');
    expect((await readFile(file.path)).equals(BIG)).toBe(true);
    expect(server.seen.slice(before).some(({ range }) => range !== undefined)).toBe(true);
  });

  it('begins anew when a server does not know ranges', async () => {
    server.faults.cutAfter = [1_000_000];
    server.faults.ignoreRange = true;
    const file = await source().fetchFile('data/big file.parquet');
    expect((await readFile(file.path)).equals(BIG)).toBe(true);
  });

  it('is fetched once more when a byte flipped on the way', async () => {
    server.faults.flips = 1;
    const file = await source().fetchFile('data/big file.parquet');
    expect((await readFile(file.path)).equals(BIG)).toBe(true);
    expect(downloads().filter(({ host }) => host === 'cdn')).toHaveLength(2);
  });

  it.each(['data/big file.parquet', 'eval_50.json'])('is refused when %s has a flipped byte twice', async (path) => {
    server.faults.flips = 2;
    await expect(source().fetchFile(path)).rejects.toMatchObject({
      type: 'PinMismatch',
      message: expect.stringMatching(
        /arrived twice with a wrong content: (SHA-256|Git hash) [0-9a-f]+, the listing says/
      ),
    });
    const names = (await readdir(join(home, 'hub'), { recursive: true })).filter((name) => name.includes(path));
    expect(names).toEqual([]);
  });

  it('is asked for again after 429 with Retry-After, 503, and a link that has expired', async () => {
    server.faults.hubStatuses = [{ status: 429, headers: { 'retry-after': '0' } }, { status: 503 }];
    server.faults.cdnStatuses = [403];
    const file = await source().fetchFile('data/big file.parquet');
    expect((await readFile(file.path)).equals(BIG)).toBe(true);
  });

  it('is refused when the server serves another commit than the pinned one', async () => {
    server.faults.commit = 'f'.repeat(40);
    await expect(source().fetchFile('eval_50.json')).rejects.toMatchObject({
      type: 'PinMismatch',
      message: expect.stringContaining('f'.repeat(40)),
    });
  });

  it('reports progress up to its whole size', async () => {
    const seen: number[][] = [];
    await source().fetchFile('data/big file.parquet', (done, total) => seen.push([done, total]));
    expect(seen.at(-1)).toEqual([BIG.byteLength, BIG.byteLength]);
  });

  it('is downloaded once when two ask for it at the same time', async () => {
    const files = await Promise.all([
      source().fetchFile('data/big file.parquet'),
      source().fetchFile('data/big file.parquet'),
    ]);
    expect(files[0]).toEqual(files[1]);
    expect(downloads().filter(({ host }) => host === 'cdn')).toHaveLength(1);
  });

  it('stops at an abort', async () => {
    const aborting = new AbortController();
    server.faults.cutAfter = [100_000, 0, 0, 0];
    const fetched = source({ signal: aborting.signal }).fetchFile('data/big file.parquet', () =>
      aborting.abort(new Error('stop'))
    );
    await expect(fetched).rejects.toThrow('stop');
  });
});

describe('a hub that refuses', () => {
  it.each([
    [
      'a wrong revision',
      { revision: '0'.repeat(40) },
      'eval_50.json',
      'PinMismatch',
      /no such commit: correct "revision"/,
    ],
    [
      'an unknown data set',
      { id: 'owner/nobody' },
      'eval_50.json',
      'DataInvalid',
      /404 \(Repository not found\).*correct its name/,
    ],
    [
      'an unknown file',
      {},
      'eval_51.json',
      'DataInvalid',
      /there is no such file.*there are: data\/big file\.parquet, eval_50\.json/,
    ],
    ['a name that leads out of the cache', {}, '../../x', 'DataInvalid', /is not a file name within a repository/],
  ])('says what to do about %s', async (_, options, path, type, message) => {
    await expect(source(options).fetchFile(path)).rejects.toMatchObject({
      type,
      message: expect.stringMatching(message),
    });
  });

  it('asks for HF_TOKEN when there is none, and calls it wrong when it is refused, without showing it', async () => {
    server.token = TOKEN;
    await expect(source().fetchFile('eval_50.json')).rejects.toMatchObject({
      type: 'DataInvalid',
      message: expect.stringMatching(/401.*set HF_TOKEN/),
    });
    const wrong = await source({ token: 'hf_wrong_one' })
      .fetchFile('eval_50.json')
      .catch((error: unknown) => error as Error);
    expect(wrong).toMatchObject({
      type: 'DataInvalid',
      message: expect.stringContaining('The token in HF_TOKEN is wrong'),
    });
    expect(JSON.stringify(wrong) + String((wrong as Error).stack)).not.toContain('hf_wrong_one');
  });

  it('names the gated repository’s terms', async () => {
    server.faults.hubStatuses = [{ status: 403, headers: { 'x-error-code': 'GatedRepo' } }];
    await expect(source().fetchFile('eval_50.json')).rejects.toMatchObject({
      message: expect.stringContaining('Accept the terms'),
    });
  });

  it('is told apart from one that cannot be reached', async () => {
    const unreachable = source({ attempts: 2 });
    await server.stop();
    await expect(unreachable.fetchFile('eval_50.json')).rejects.toMatchObject({
      type: 'EngineUnavailable',
      message: expect.stringMatching(/could not be fetched from http:\/\/127\.0\.0\.1:\d+ in 2 tries/),
    });
  });

  it('cannot be named by something that is no address', () => {
    expect(
      () => new HubSource({ type: 'dataset', id: 'a/b', revision: REVISION }, { env: { HF_ENDPOINT: 'nowhere' } })
    ).toThrow(/HF_ENDPOINT is not an address/);
  });
});

describe('a snapshot of a hub model', () => {
  it('holds the wanted files in one folder', async () => {
    const models = await new HubServer(
      { type: 'models', id: 'Qwen/Qwen3-4B' },
      {
        'config.json': { bytes: Buffer.from('{}'), lfs: false },
        'model.safetensors': { bytes: BIG, lfs: true },
        'x.bin': { bytes: SMALL, lfs: false },
      }
    ).start();
    try {
      const model = new HubSource(
        { type: 'model', id: 'Qwen/Qwen3-4B', revision: REVISION },
        { env: { MEMAGENT_HOME: home, HF_ENDPOINT: `${models.endpoint}/` }, retry: { baseDelayMs: 1 } }
      );
      const { folder, files } = await model.fetchSnapshot((path) => !path.endsWith('.bin'));
      expect(files).toHaveLength(2);
      expect((await readdir(folder)).sort()).toEqual(['config.json', 'model.safetensors']);
    } finally {
      await models.stop();
    }
  });
});
