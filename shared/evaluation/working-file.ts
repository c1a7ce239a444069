import { copyFile, mkdir, open, rename, rm, truncate, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readByteLines } from '../artifacts/byte-lines.js';
import { storageError, temporaryName } from '../artifacts/atomic-file.js';
import { isRecord } from '../inference/reply-checks.js';
import type { ScoredSample } from '../scoring/aggregate.js';
import type { Conditions } from './conditions.js';
import type { StoredSample } from './types.js';

/** What is kept in memory of a sample that is on disk. */
export interface DoneSample extends ScoredSample {
  offset: number;
  /** Bytes of its line, newline left out. */
  length: number;
  context_truncated: boolean;
  context_tokens: number;
  tokens_read: number;
}

/** Strips a sample to what the summary needs. */
function toDone(sample: StoredSample, offset: number, length: number): DoneSample {
  return {
    offset,
    length,
    judge_f1: sample.judge_f1,
    judge_em: sample.judge_em,
    judge_sub_em: sample.judge_sub_em,
    judge_boxed_em: sample.judge_boxed_em,
    context_truncated: sample.context_truncated,
    context_tokens: sample.context_tokens,
    tokens_read: sample.tokens_read,
    ...(sample.error === undefined ? {} : { error: sample.error }),
  };
}

/**
 * Append-only file of finished samples, one line each as they complete, the latest line of a sample counts. The first line
 * names the settings: samples of other settings are not taken over.
 *
 * Every method throws PipelineError `StorageFailed` naming the path.
 */
export class WorkingFile {
  /** Finished samples by index. */
  readonly done = new Map<number, DoneSample>();
  private tail: Promise<void> = Promise.resolve();

  private constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    private size: number
  ) {}

  /**
   * Opens the file of an interrupted evaluation, or begins a new one. A torn last line is cut off.
   *
   * @param settings hash of the settings
   * @param conditions the same for people, kept in the first line
   */
  static async open(path: string, settings: string, conditions: Conditions): Promise<WorkingFile> {
    try {
      await mkdir(dirname(path), { recursive: true });
      const header = Buffer.from(`${JSON.stringify({ evaluation: settings, conditions })}\n`);
      const found = await scan(path, header);
      if (found === undefined) await rm(path, { force: true });
      else await takeOver(path, found.end);
      const file = new WorkingFile(path, await open(path, 'a+'), found?.end ?? 0);
      if (found === undefined) await file.write(header);
      for (const [index, sample] of found?.samples ?? []) file.done.set(index, sample);
      return file;
    } catch (error) {
      throw storageError(path, error);
    }
  }

  /** Puts one sample behind the others. Calls may overlap: lines never mix. */
  append(sample: StoredSample): Promise<void> {
    const line = Buffer.from(`${JSON.stringify(sample)}\n`);
    const written = this.tail.then(async () => {
      const offset = this.size;
      await this.write(line);
      this.done.set(sample.index, toDone(sample, offset, line.byteLength - 1));
    });
    // A failed write is reported to its caller; the ones behind try for themselves.
    this.tail = written.catch(() => undefined);
    return written;
  }

  /** The line of a finished sample, as text. */
  async line(sample: DoneSample): Promise<string> {
    const bytes = Buffer.alloc(sample.length);
    await this.handle.read(bytes, 0, sample.length, sample.offset);
    return bytes.toString('utf8');
  }

  async close(): Promise<void> {
    await this.tail;
    await this.handle.close();
  }

  /** Closes and deletes the file. */
  async remove(): Promise<void> {
    await this.close();
    await rm(this.path, { force: true });
  }

  private async write(bytes: Buffer): Promise<void> {
    try {
      await this.handle.appendFile(bytes);
      this.size += bytes.byteLength;
    } catch (error) {
      // Part of the line may be on disk: leave a file that ends with a whole line.
      await this.handle.truncate(this.size).catch(() => undefined);
      throw storageError(this.path, error);
    }
  }
}

/**
 * Puts a copy of the whole lines in the file's place. An earlier attempt that was given up may still be at work, e.g. after its
 * host was frozen: what it goes on to write must not come between the lines that are counted here.
 */
async function takeOver(path: string, end: number): Promise<void> {
  const temporary = temporaryName(path);
  try {
    await copyFile(path, temporary);
    await truncate(temporary, end);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

interface Found {
  /** End of the last whole line. */
  end: number;
  samples: Map<number, DoneSample>;
}

/** Reads a working file; undefined when there is none, or it is of other settings. */
async function scan(path: string, header: Buffer): Promise<Found | undefined> {
  const samples = new Map<number, DoneSample>();
  let end = 0;
  try {
    await readByteLines(path, ({ bytes = Buffer.alloc(0), offset, length, isWhole }) => {
      if (!isWhole || (offset === 0 && !bytes.equals(header.subarray(0, -1)))) return false;
      const sample = offset === 0 ? undefined : parseSample(bytes);
      if (sample !== undefined) samples.set(sample.index, toDone(sample, offset, length));
      end = offset + length + 1;
      return true;
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return end === 0 ? undefined : { end, samples };
}

/** A line that is not a sample (zeros after a power cut) is a sample that is not done. */
function parseSample(line: Buffer): StoredSample | undefined {
  try {
    const value = JSON.parse(line.toString('utf8')) as unknown;
    return isRecord(value) && Number.isSafeInteger(value['index']) ? (value as unknown as StoredSample) : undefined;
  } catch {
    return undefined;
  }
}
