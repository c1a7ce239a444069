import { mkdir, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { ArtifactRef } from '../contracts/artifact.js';
import { PipelineError } from '../contracts/pipeline-error.js';
import { storageError, temporaryName, writeFileAtomic } from './atomic-file.js';
import { folderFacts, hashFileCached, hashFolder, type FileFacts } from './hash-cache.js';
import { buildManifest, manifestText } from './manifest.js';
import { moveFile, moveFolder } from './move.js';
import { ObjectStore } from './object-store.js';
import { checkedArtifactPath, checkedRelative, MANIFEST_FILE, META_FOLDER, runDirectory } from './run-paths.js';
import { readSidecar, readSidecars, refOf, writeSidecar, type Description, type Sidecar } from './sidecar.js';
import { setFilesAside } from './set-aside.js';
import { readStage, removeStage, writeStage, type StageOutput, type StageRecord } from './stage-index.js';

/** What is published: text or bytes, or a finished temporary file or folder, which is moved. */
export type Source = string | Uint8Array | { file: string } | { folder: string };

/**
 * The files of one run: each is written whole, hashed, kept in the content-addressed store of the root and described by a
 * sidecar. Several processes may publish at the same time; equal contents always end as one complete artifact.
 *
 * Layout: `<root>/<run>/<path>`, `<root>/<run>/.meta/<path>.json`, `<root>/.store/sha256/…`, `<root>/.stages/<key>.json`.
 */
export class RunStore {
  private readonly objects: ObjectStore;

  private constructor(
    /** Absolute folder of all runs. */
    readonly root: string,
    readonly pipelineId: string,
    /** Absolute folder of this run. */
    readonly directory: string
  ) {
    this.objects = new ObjectStore(root);
  }

  /**
   * Opens a run and makes its folder. An id that is no plain name gets one, see `runDirectoryName`.
   *
   * @throws PipelineError `StorageFailed` naming the folder
   */
  static async open(root: string, pipelineId: string): Promise<RunStore> {
    const absolute = resolve(root);
    const directory = runDirectory(absolute, pipelineId);
    try {
      await mkdir(join(directory, META_FOLDER), { recursive: true });
    } catch (error) {
      throw storageError(directory, error);
    }
    return new RunStore(absolute, pipelineId, directory);
  }

  /** Absolute path of something in the run; `.` is the run's folder. @throws PipelineError `StorageFailed` for `..` and the like */
  path(relative: string): string {
    return relative === '.' ? this.directory : join(this.directory, checkedRelative(relative));
  }

  /**
   * Publishes an artifact: bytes to a temporary name, fsync, rename, fsync of the folder, then the sidecar.
   *
   * @throws PipelineError `StorageFailed` naming the path
   */
  async publish(relative: string, source: Source, description: Description): Promise<ArtifactRef> {
    const target = join(this.directory, checkedArtifactPath(relative));
    if (typeof source === 'string' || source instanceof Uint8Array) await writeFileAtomic(target, source);
    else if ('file' in source) await moveFile(source.file, target);
    else await moveFolder(source.folder, target);
    return this.adopt(relative, description);
  }

  /**
   * Registers a file or folder that was written (atomically) at its place.
   *
   * @throws PipelineError `StorageFailed` naming the path, also when nothing is there
   */
  async adopt(relative: string, description: Description): Promise<ArtifactRef> {
    const target = join(this.directory, checkedArtifactPath(relative));
    try {
      const measured = await measure(target);
      await this.keepObjects(target, measured);
      const sidecar: Sidecar = {
        path: relative,
        sha256: measured.sha256,
        bytes: measured.bytes,
        kind: description.kind,
        inputs: description.inputs.map(({ path, sha256 }) => ({ path, sha256 })),
        producer: description.producer,
        ...(measured.files === undefined ? {} : { files: measured.files }),
      };
      await writeSidecar(this.directory, sidecar);
      return refOf(sidecar);
    } catch (error) {
      throw storageError(target, error);
    }
  }

  private async keepObjects(target: string, measured: Measured): Promise<void> {
    if (measured.files === undefined) return this.objects.keep(target, measured.sha256);
    for (const file of measured.files) await this.objects.keep(join(target, file.name), file.sha256);
  }

  /** The artifact at a path if it is complete and its bytes still have the published hash, else undefined. */
  async find(relative: string): Promise<ArtifactRef | undefined> {
    const sidecar = await this.describe(relative);
    return sidecar === undefined ? undefined : refOf(sidecar);
  }

  /** Like {@link find}, with inputs and producer. */
  async describe(relative: string): Promise<Sidecar | undefined> {
    const target = join(this.directory, checkedArtifactPath(relative));
    const sidecar = await readSidecar(this.directory, relative);
    if (sidecar === undefined) return undefined;
    try {
      const measured = await measure(target);
      const whole =
        measured.sha256 === sidecar.sha256 && (measured.files === undefined) === (sidecar.files === undefined);
      return whole ? sidecar : undefined;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
      throw storageError(target, error);
    }
  }

  /** Like {@link find}. @throws PipelineError `StorageFailed` when it is not there or not whole */
  async expect(relative: string): Promise<ArtifactRef> {
    const found = await this.find(relative);
    if (found !== undefined) return found;
    const path = join(this.directory, relative);
    throw new PipelineError(
      'StorageFailed',
      `${path} is missing or was changed after it was published. Run again: the stage that made it makes it anew.`,
      { where: path }
    );
  }

  /**
   * Looks at every published artifact and gives those that were damaged or lost since their bytes back from the store. One file
   * can be part of several artifacts with equal bytes, so damage to one of them shows in others that nobody looked at again.
   *
   * @returns paths of artifacts of which no whole copy is left, sorted
   */
  async heal(): Promise<string[]> {
    const lost: string[] = [];
    for (const sidecar of await readSidecars(this.directory)) {
      if ((await this.describe(sidecar.path)) !== undefined) continue;
      if (await this.storeHolds(sidecar)) await this.place(sidecar);
      else lost.push(sidecar.path);
    }
    return lost.sort();
  }

  /** Writes `manifest.json`: every file with SHA-256, bytes, kind, inputs, code version and attempt, sorted by path. */
  async writeManifest(): Promise<ArtifactRef> {
    const manifest = await buildManifest(this.directory, this.pipelineId);
    const facts = await writeFileAtomic(join(this.directory, MANIFEST_FILE), manifestText(manifest));
    return { path: MANIFEST_FILE, ...facts, kind: 'manifest' };
  }

  /** Remembers a finished stage for any later run of this root. Every output must be published in this run. */
  async recordStage(record: Omit<StageRecord, 'pipelineId'>): Promise<void> {
    const outputs: StageOutput[] = [];
    for (const ref of record.outputs) {
      const sidecar = await readSidecar(this.directory, ref.path);
      if (sidecar?.sha256 !== ref.sha256) await this.expect(ref.path);
      else outputs.push(sidecar);
    }
    await writeStage(this.root, { ...record, pipelineId: this.pipelineId, outputs });
  }

  /**
   * A finished stage with this key, of any run of the root. Its files are verified by hash and linked into this run; when
   * any of them is gone or damaged, nothing is linked and the answer is undefined.
   *
   * @param options - `onlyOf`: id of the one run whose stage is good enough
   */
  async lookupStage(key: string, options: { onlyOf?: string | undefined } = {}): Promise<StageRecord | undefined> {
    const stage = await readStage(this.root, key);
    if (stage === undefined || (options.onlyOf !== undefined && options.onlyOf !== stage.pipelineId)) return undefined;
    const missing: StageOutput[] = [];
    for (const output of stage.outputs) {
      const here = await this.find(output.path);
      if (here?.sha256 === output.sha256) continue;
      if (!(await this.storeHolds(output))) return undefined;
      missing.push(output);
    }
    for (const output of missing) await this.materialize(output, stage.pipelineId);
    return { ...stage, outputs: stage.outputs.map(refOf) };
  }

  /** Forgets a finished stage: the next run that needs it makes it. Does nothing when it is not known. */
  async forgetStage(key: string): Promise<void> {
    await removeStage(this.root, key);
  }

  /** Moves files, and what is known of them, out of the run's way, see {@link setFilesAside}. */
  async setAside(paths: readonly string[], name: string): Promise<void> {
    await setFilesAside(this.directory, paths, name);
  }

  private async storeHolds(output: StageOutput): Promise<boolean> {
    const hashes = output.files?.map((file) => file.sha256) ?? [output.sha256];
    for (const sha256 of hashes) {
      if (!(await this.objects.holds(sha256))) return false;
    }
    return true;
  }

  private async materialize(output: StageOutput, madeBy: string): Promise<void> {
    await this.place(output);
    const reusedFrom = madeBy === this.pipelineId ? {} : { reusedFrom: output.reusedFrom ?? madeBy };
    await writeSidecar(this.directory, { ...output, ...reusedFrom });
  }

  /** Puts an artifact that the store holds at its path. */
  private async place(output: StageOutput): Promise<void> {
    const target = join(this.directory, checkedArtifactPath(output.path));
    if (output.files === undefined) await this.objects.materialize(output.sha256, target);
    else {
      const temporary = temporaryName(target);
      try {
        await mkdir(temporary, { recursive: true });
        for (const file of output.files) {
          await this.objects.materialize(file.sha256, join(temporary, checkedRelative(file.name)));
        }
        await moveFolder(temporary, target);
      } finally {
        await rm(temporary, { recursive: true, force: true });
      }
    }
  }
}

interface Measured {
  sha256: string;
  bytes: number;
  files?: FileFacts[];
}

async function measure(path: string): Promise<Measured> {
  if (!(await stat(path)).isDirectory()) return hashFileCached(path);
  const files = await hashFolder(path);
  return { ...folderFacts(files), files };
}
