import { createReadStream } from 'node:fs';
import { JsonDecodeError, pyJsonLoads } from './python/json-loads.js';
import { PythonError, pyStrip } from './python/value.js';
import { checkTextHead, decodeUtf8, MAX_ROW_BYTES, type ReadOptions, type SourceRow } from './source-row.js';

const PIECE_BYTES = 256 * 1024;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/**
 * Rows of a JSON Lines file of any size, in batches. Blank lines are passed over; a line that is not JSON becomes a malformed
 * row with its line number, and reading goes on.
 *
 * @throws PipelineError DataInvalid for a byte order mark or a Git LFS pointer
 */
export async function* readJsonlRows(path: string, { onBytes, signal }: ReadOptions = {}): AsyncGenerator<SourceRow[]> {
  const lines = new LineCutter();
  let row = 0;
  let bytes = 0;
  const rowsOf = (cut: Line[]): SourceRow[] => {
    const rows: SourceRow[] = [];
    for (const line of cut) {
      const found = rowOf(line, row + 1);
      if (found === undefined) continue;
      row += 1;
      rows.push(found);
    }
    return rows;
  };
  for await (const piece of createReadStream(path, { highWaterMark: PIECE_BYTES, ...(signal && { signal }) })) {
    const buffer = piece as Buffer;
    if (bytes === 0) checkTextHead(path, buffer.subarray(0, 64));
    bytes += buffer.byteLength;
    const rows = rowsOf(lines.push(buffer));
    if (rows.length > 0) yield rows;
    onBytes?.(bytes);
  }
  const last = rowsOf(lines.end());
  if (last.length > 0) yield last;
}

function rowOf({ bytes, line, size }: Line, row: number): SourceRow | undefined {
  if (bytes === undefined) {
    return { row, line, malformed: 'too large', detail: `${size} bytes, at most ${MAX_ROW_BYTES} are possible` };
  }
  const text = decodeUtf8(bytes);
  if (text === undefined) return { row, line, malformed: 'not UTF-8', detail: 'the line is not UTF-8' };
  if (pyStrip(text) === '') return undefined;
  try {
    return { row, line, value: pyJsonLoads(text) };
  } catch (error) {
    if (error instanceof JsonDecodeError) {
      return { row, line, malformed: 'not JSON', detail: `${error.reason} at character ${error.offset + 1}` };
    }
    if (error instanceof PythonError) return { row, line, malformed: 'not JSON', detail: error.message };
    throw error;
  }
}

interface Line {
  /** Undefined when larger than {@link MAX_ROW_BYTES}. */
  bytes: Buffer | undefined;
  size: number;
  line: number;
}

/** Lines end with \n, \r\n or \r, as in a Python text file. */
class LineCutter {
  private parts: Buffer[] = [];
  private size = 0;
  private line = 1;

  push(piece: Buffer): Line[] {
    const found: Line[] = [];
    let from = 0;
    for (let at = piece.indexOf(NEWLINE); at !== -1; at = piece.indexOf(NEWLINE, from)) {
      this.keep(piece.subarray(from, at));
      found.push(...this.take());
      from = at + 1;
    }
    this.keep(piece.subarray(from));
    return found;
  }

  end(): Line[] {
    return this.size === 0 ? [] : this.take();
  }

  private keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.size += bytes.length;
    if (this.size > MAX_ROW_BYTES) this.parts = [];
    else this.parts.push(bytes);
  }

  private take(): Line[] {
    const size = this.size;
    const bytes = this.parts.length === 1 ? (this.parts[0] as Buffer) : Buffer.concat(this.parts);
    this.parts = [];
    this.size = 0;
    if (size > MAX_ROW_BYTES) return [{ bytes: undefined, size, line: this.line++ }];
    return this.splitReturns(bytes);
  }

  private splitReturns(bytes: Buffer): Line[] {
    const found: Line[] = [];
    let from = 0;
    for (let at = bytes.indexOf(RETURN); at !== -1 && at < bytes.length - 1; at = bytes.indexOf(RETURN, from)) {
      found.push({ bytes: bytes.subarray(from, at), size: at - from, line: this.line++ });
      from = at + 1;
    }
    // A \r at the end belongs to \r\n; JSON takes it for white space.
    found.push({ bytes: bytes.subarray(from), size: bytes.length - from, line: this.line++ });
    return found;
  }
}
