import { createHash } from 'node:crypto';
import { mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { storageError, syncDirectory, temporaryName } from '../artifacts/atomic-file.js';

/** Bytes gathered before they are written. */
const FLUSH_BYTES = 1024 * 1024;

/**
 * Writes a text file of any size piece by piece, so that a reader sees the old file or the whole new one: temporary name,
 * fsync, rename. Memory: about 1 MiB.
 *
 * Every method throws PipelineError `StorageFailed` naming the path.
 */
export class AtomicTextWriter {
  private readonly hash = createHash('sha256');
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  private bytes = 0;

  private constructor(
    private readonly path: string,
    private readonly temporary: string,
    private readonly handle: FileHandle
  ) {}

  static async create(path: string): Promise<AtomicTextWriter> {
    const temporary = temporaryName(path);
    try {
      await mkdir(dirname(path), { recursive: true });
      return new AtomicTextWriter(path, temporary, await open(temporary, 'wx'));
    } catch (error) {
      throw storageError(path, error);
    }
  }

  async write(text: string): Promise<void> {
    const bytes = Buffer.from(text, 'utf8');
    this.pending.push(bytes);
    this.pendingBytes += bytes.byteLength;
    if (this.pendingBytes >= FLUSH_BYTES) await this.flush();
  }

  /** Makes the file appear under its name. */
  async commit(): Promise<{ sha256: string; bytes: number }> {
    try {
      await this.flush();
      await this.handle.sync();
      await this.handle.close();
      await rename(this.temporary, this.path);
      await syncDirectory(dirname(this.path));
    } catch (error) {
      await this.discard();
      throw storageError(this.path, error);
    }
    return { sha256: this.hash.digest('hex'), bytes: this.bytes };
  }

  /** Removes what was written; the file of that name, if any, stays as it was. */
  async discard(): Promise<void> {
    await this.handle.close().catch(() => undefined);
    await rm(this.temporary, { force: true }).catch(() => undefined);
  }

  private async flush(): Promise<void> {
    const bytes = Buffer.concat(this.pending);
    this.pending = [];
    this.pendingBytes = 0;
    this.hash.update(bytes);
    this.bytes += bytes.byteLength;
    try {
      await this.handle.writeFile(bytes);
    } catch (error) {
      throw storageError(this.path, error);
    }
  }
}
