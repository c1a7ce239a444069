import { mkdir, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { storageError } from '../../../shared/artifacts/atomic-file.js';

/** Size of every file but the last. Part of the layout: the place of a byte follows from its number. Unit: bytes. */
const FILE_BYTES = 64 * 1024 * 1024;
const READ_BYTES = 256 * 1024;

/**
 * A log on disk, as the bytes that came: `000000.log`, `000001.log`, … of equal size, one after the other.
 *
 * Byte number n of the log has its one place in these files. So the next offset is read off the files themselves, and two writers
 * that follow the same log (one of them given up, but not yet aware of it) write the same bytes to the same places: nothing is
 * lost or doubled, whoever was first.
 */
export class LogStore {
  private constructor(
    readonly folder: string,
    private readonly fileBytes: number,
    private bytes: number
  ) {}

  /** Opens a log and finds its end. @throws PipelineError StorageFailed */
  static async open(folder: string, fileBytes = FILE_BYTES): Promise<LogStore> {
    try {
      await mkdir(folder, { recursive: true });
      return new LogStore(folder, fileBytes, await storedBytes(folder, fileBytes));
    } catch (error) {
      throw storageError(folder, error);
    }
  }

  /** Bytes stored so far: the offset of the next one. */
  get size(): number {
    return this.bytes;
  }

  /** @throws PipelineError StorageFailed */
  async append(data: Uint8Array): Promise<void> {
    let rest = data;
    while (rest.byteLength > 0) {
      const place = this.bytes % this.fileBytes;
      const piece = rest.subarray(0, this.fileBytes - place);
      await this.write(Math.floor(this.bytes / this.fileBytes), place, piece);
      this.bytes += piece.byteLength;
      rest = rest.subarray(piece.byteLength);
    }
  }

  /** Everything stored, in pieces, as it was when the reading began. @throws PipelineError StorageFailed */
  async *read(from = 0): AsyncGenerator<Buffer> {
    const end = this.bytes;
    for (let at = from; at < end;) {
      const place = at % this.fileBytes;
      const length = Math.min(READ_BYTES, this.fileBytes - place, end - at);
      const piece = await this.readPiece(Math.floor(at / this.fileBytes), place, length);
      yield piece;
      at += piece.byteLength;
    }
  }

  /** The last bytes stored. */
  async last(bytes: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.read(Math.max(0, this.bytes - bytes))) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  private async write(file: number, place: number, data: Uint8Array): Promise<void> {
    const path = this.path(file);
    try {
      // Not the append mode: a byte belongs to its place, also when somebody else wrote it meanwhile.
      const handle = await open(path, 'r+').catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        return await open(path, 'wx+').catch(() => open(path, 'r+'));
      });
      try {
        for (let done = 0; done < data.byteLength;) {
          const { bytesWritten } = await handle.write(data, done, data.byteLength - done, place + done);
          done += bytesWritten;
        }
      } finally {
        await handle.close();
      }
    } catch (error) {
      throw storageError(path, error);
    }
  }

  private async readPiece(file: number, place: number, length: number): Promise<Buffer> {
    const path = this.path(file);
    try {
      const handle = await open(path, 'r');
      try {
        const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, place);
        if (bytesRead === 0) throw new Error('the log is shorter than it was');
        return buffer.subarray(0, bytesRead);
      } finally {
        await handle.close();
      }
    } catch (error) {
      throw storageError(path, error);
    }
  }

  private path(file: number): string {
    return join(this.folder, fileName(file));
  }
}

function fileName(file: number): string {
  return `${String(file).padStart(6, '0')}.log`;
}

/** Bytes without a gap from the log's beginning: up to the end of the first file that is not full. */
async function storedBytes(folder: string, fileBytes: number): Promise<number> {
  const names = new Set(await readdir(folder));
  for (let file = 0; ; file += 1) {
    if (!names.has(fileName(file))) return file * fileBytes;
    const { size } = await stat(join(folder, fileName(file)));
    if (size < fileBytes) return file * fileBytes + size;
  }
}
