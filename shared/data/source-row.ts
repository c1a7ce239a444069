import { isUtf8 } from 'node:buffer';
import { PipelineError } from '../contracts/pipeline-error.js';
import type { PyValue } from './python/value.js';

/** Where a row stands in its file. */
export interface RowPlace {
  /** Row number from 1, in file order, malformed rows included. */
  row: number;
  /** Line of the file where the row starts, from 1; text formats only. */
  line?: number;
}

/** One row of a data file, or why it could not be read. */
export type SourceRow = RowPlace & ({ value: PyValue } | { malformed: MalformedReason; detail: string });

export type MalformedReason = 'not JSON' | 'not UTF-8' | 'too large';

export interface ReadOptions {
  /** Called with the bytes of the file read so far. */
  onBytes?: (bytes: number) => void;
  signal?: AbortSignal;
}

/** Bytes of one row at most: V8's strings end at 512 MiB, and a row is held as bytes and as text at once. */
export const MAX_ROW_BYTES = 256 * 1024 * 1024;

/** `DataInvalid` that says where in a file something is wrong and how to correct it. */
export function dataInvalid(path: string, problem: string, cure: string, cause?: unknown): PipelineError {
  return new PipelineError('DataInvalid', `${path}: ${problem}. ${cure}`, { where: path, cure }, { cause });
}

/** Text of UTF-8 bytes, or undefined when they are not UTF-8. A byte order mark stays. Faster than a fatal TextDecoder. */
export function decodeUtf8(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}

/**
 * Refuses what other programs put in front of a text: byte order marks and Git LFS pointers.
 *
 * @param head the file's first bytes, at least 64 when the file has them
 * @throws PipelineError DataInvalid
 */
export function checkTextHead(path: string, head: Uint8Array): void {
  const [a, b, c] = head;
  if (a === 0xef && b === 0xbb && c === 0xbf) {
    throw dataInvalid(
      path,
      'line 1 column 1: the file starts with a byte order mark (BOM), which JSON forbids',
      'Save it as UTF-8 without BOM, e.g. `tail -c +4 FILE > NEWFILE`'
    );
  }
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)) {
    throw dataInvalid(
      path,
      'line 1 column 1: the file is UTF-16, JSON data must be UTF-8',
      'Convert it: `iconv -f UTF-16 -t UTF-8 FILE > NEWFILE`'
    );
  }
  checkLfsPointer(path, head);
}

/** @throws PipelineError DataInvalid for a Git LFS pointer in the place of the file */
export function checkLfsPointer(path: string, head: Uint8Array): void {
  if (!Buffer.from(head).toString('latin1').startsWith('version https://git-lfs.github.com/spec')) return;
  throw dataInvalid(path, 'the file is a Git LFS pointer, not the data itself', 'Run `git lfs pull` in its repository');
}
