import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { listFiles, pathsInfo } from '@huggingface/hub';
import { storageError, syncDirectory, writeFileAtomic } from '../../artifacts/atomic-file.js';
import { PipelineError } from '../../contracts/pipeline-error.js';
import { withFileLock } from '../../temporal-binary/file-lock.js';
import { memagentHome } from '../../temporal-binary/home.js';
import { HubClient } from './hub-client.js';
import { downloadResuming } from './hub-download.js';
import type { HubPorts } from './hub-types.js';
import { verifyFile, type HubFileFacts } from './hub-verify.js';

export type { HubPorts } from './hub-types.js';
export type { HubFileFacts } from './hub-verify.js';

export interface HubRepo {
  type: 'dataset' | 'model';
  /** `owner/name`. */
  id: string;
  /** Commit, 40 hexadecimal digits: files of a commit never change, so they are cached for good. */
  revision: string;
}

export interface FetchedFile extends HubFileFacts {
  /** Absolute path in the cache. */
  path: string;
  sha256: string;
}

/** How far the download of a snapshot is. Unit: bytes. */
export interface SnapshotProgress {
  /** The file that is being downloaded, and which one of how many that is, from 1. */
  file: string;
  fileNumber: number;
  files: number;
  /** Of that file. */
  done: number;
  total: number;
  /** Of all files. */
  doneInAll: number;
  totalInAll: number;
}

/** How long another process may take to download the same file. */
const LOCK_WAIT_MS = 6 * 3600_000;
const PROGRESS_MS = 250;

/**
 * Files of a Hugging Face repository at one commit, cached under `MEMAGENT_HOME`/hub. Every file is checked against the size
 * and hash in the hub's listing when it arrives, and again whenever it is taken from the cache.
 *
 * `HF_ENDPOINT` names another hub, `HF_TOKEN` is sent to that hub only.
 */
export class HubSource {
  private readonly client: HubClient;
  private readonly folder: string;
  private readonly factsFolder: string;

  constructor(
    private readonly repo: HubRepo,
    ports: HubPorts = {}
  ) {
    this.client = new HubClient(ports);
    const name = `${repo.type}s--${repo.id.replaceAll('/', '--')}`;
    const home = join(memagentHome(ports.env), 'hub', checkedPath(name));
    this.folder = join(home, checkedPath(repo.revision));
    this.factsFolder = join(home, `${repo.revision}.facts`);
  }

  /**
   * All files of the repository.
   *
   * @throws PipelineError as {@link fetchFile}
   */
  async listFiles(): Promise<HubFileFacts[]> {
    const found: HubFileFacts[] = [];
    const entries = listFiles({ ...this.call(this.label()), recursive: true });
    for await (const entry of entries) if (entry.type === 'file') found.push(factsOf(entry));
    return found;
  }

  /**
   * A file's place on this machine, downloaded when it is not there yet.
   *
   * @param path file name within the repository
   * @param onProgress bytes done and in all, a few times a second
   * @throws PipelineError DataInvalid (no such repository or file, no access), PinMismatch (no such revision; size or hash
   *   wrong twice), EngineUnavailable (hub out of reach), StorageFailed
   */
  async fetchFile(path: string, onProgress?: (done: number, total: number) => void): Promise<FetchedFile> {
    const target = join(this.folder, checkedPath(path));
    const locked = async (): Promise<FetchedFile> => {
      const cached = await this.fromCache(path, target);
      if (cached !== undefined) return cached;
      const facts = await this.factsFromHub(path);
      const sha256 = await this.download(facts, target, throttled(onProgress));
      await writeFileAtomic(join(this.factsFolder, `${path}.json`), `${JSON.stringify(facts)}\n`);
      return { ...facts, path: target, sha256 };
    };
    return withFileLock(join(this.factsFolder, `${path}.lock`), LOCK_WAIT_MS, locked, this.client.signal);
  }

  /**
   * Fetches every file that `select` wants, one after the other.
   *
   * @param onProgress called a few times a second
   * @returns the folder that holds them, e.g. a model's folder
   * @throws PipelineError as {@link fetchFile}; DataInvalid when no file is wanted
   */
  async fetchSnapshot(
    select: (path: string) => boolean,
    onProgress?: (progress: SnapshotProgress) => void
  ): Promise<{ folder: string; files: FetchedFile[] }> {
    const wanted = (await this.listFiles()).filter(({ path }) => select(path));
    if (wanted.length === 0) {
      throw new PipelineError(
        'DataInvalid',
        `${this.label()} has none of the wanted files. Correct its name or revision.`
      );
    }
    const files: FetchedFile[] = [];
    const totalInAll = wanted.reduce((sum, { size }) => sum + size, 0);
    let before = 0;
    for (const [at, { path: file, size }] of wanted.entries()) {
      const place = { file, fileNumber: at + 1, files: wanted.length, totalInAll };
      const start = before;
      const report = (done: number, total: number): void =>
        onProgress?.({ ...place, done, total, doneInAll: start + done });
      files.push(await this.fetchFile(file, report));
      before += size;
    }
    return { folder: this.folder, files };
  }

  private async fromCache(path: string, target: string): Promise<FetchedFile | undefined> {
    const text = await readFile(join(this.factsFolder, `${path}.json`), 'utf8').catch(() => undefined);
    if (text === undefined || (await sizeOf(target)) === undefined) return undefined;
    const facts = JSON.parse(text) as HubFileFacts;
    const check = await verifyFile(target, facts);
    if ('sha256' in check) return { ...facts, path: target, sha256: check.sha256 };
    await rm(target, { force: true });
    return undefined;
  }

  private async factsFromHub(path: string): Promise<HubFileFacts> {
    const [found] = await pathsInfo({ ...this.call(this.label(path)), paths: [path] });
    if (found?.type === 'file') return factsOf(found);
    const names = (await this.listFiles()).map((file) => file.path);
    const cure = `Correct the file name in the recipe; there are: ${names.slice(0, 20).join(', ')}`;
    throw new PipelineError('DataInvalid', `${this.label(path)}: there is no such file. ${cure}`, { cure });
  }

  private async download(
    facts: HubFileFacts,
    target: string,
    onProgress: (done: number, total: number) => void
  ): Promise<string> {
    const what = this.label(facts.path);
    const partial = `${target}.incomplete`;
    const job = {
      url: this.resolveUrl(facts.path),
      partial,
      size: facts.size,
      revision: this.repo.revision,
      what,
      onProgress,
    };
    let problem = '';
    // A byte that flipped on the way is worth one more try from the start.
    for (let tries = 0; tries < 2; tries += 1) {
      await downloadResuming(this.client, job);
      const check = await verifyFile(partial, facts);
      if ('sha256' in check) {
        await publish(partial, target);
        return check.sha256;
      }
      problem = check.problem;
      await rm(partial, { force: true });
    }
    const cure = 'The hub or mirror in HF_ENDPOINT serves a damaged file: use another one';
    throw new PipelineError('PinMismatch', `${what} arrived twice with a wrong content: ${problem}. ${cure}`, {
      where: what,
      cure,
    });
  }

  private call(what: string): {
    repo: { type: 'dataset' | 'model'; name: string };
    revision: string;
    hubUrl: string;
    fetch: typeof fetch;
  } {
    const { type, id: name, revision } = this.repo;
    return { repo: { type, name }, revision, hubUrl: this.client.endpoint, fetch: this.client.apiFetch(what) };
  }

  private resolveUrl(path: string): string {
    const prefix = this.repo.type === 'dataset' ? 'datasets/' : '';
    const name = path.split('/').map(encodeURIComponent).join('/');
    return `${this.client.endpoint}/${prefix}${this.repo.id}/resolve/${encodeURIComponent(this.repo.revision)}/${name}`;
  }

  private label(path?: string): string {
    const repo = `${this.repo.type} ${this.repo.id} at revision ${this.repo.revision}`;
    return path === undefined ? repo : `${path} of ${repo}`;
  }
}

function factsOf(entry: {
  path: string;
  size: number;
  oid?: string;
  lfs?: { oid: string; size: number };
}): HubFileFacts {
  const { path, lfs, oid } = entry;
  if (lfs !== undefined) return { path, size: lfs.size, sha256: lfs.oid };
  return { path, size: entry.size, ...(oid !== undefined && { gitOid: oid }) };
}

async function publish(partial: string, target: string): Promise<void> {
  try {
    await mkdir(dirname(target), { recursive: true });
    await rename(partial, target);
    await syncDirectory(dirname(target));
  } catch (error) {
    throw storageError(target, error);
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined
  );
}

/** A name from a recipe or a server never leads out of the cache. */
function checkedPath(path: string): string {
  const parts = path.split('/');
  if (path !== '' && !path.includes('\\') && !parts.some((part) => part === '' || part === '.' || part === '..'))
    return path;
  throw new PipelineError('DataInvalid', `${JSON.stringify(path)} is not a file name within a repository. Correct it.`);
}

function throttled(
  onProgress: ((done: number, total: number) => void) | undefined
): (done: number, total: number) => void {
  let last = 0;
  return (done, total) => {
    const now = performance.now();
    if (onProgress === undefined || (now - last < PROGRESS_MS && done < total)) return;
    last = now;
    onProgress(done, total);
  };
}
