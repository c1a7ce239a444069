import { open } from 'node:fs/promises';

/** Read at once at most, and first size of the line's buffer. */
const PIECE_BYTES = 1024 * 1024;
const LINE_BYTES = 16 * 1024;
const NEWLINE = 0x0a;

/** One line of a file. */
export interface ByteLine {
  /** Without its line feed, valid until the callback returns; undefined for a line that is longer than was asked for. */
  bytes: Buffer | undefined;
  /** Where it begins in the file. Unit: bytes. */
  offset: number;
  /** Without its line feed. Unit: bytes. */
  length: number;
  /** A line feed ends it; false only for what stands behind the last one. */
  isWhole: boolean;
}

/**
 * Calls `onLine` for each line of a file, in order, the last one also where nothing ends it. All lines pass through the same two
 * buffers: a file of many megabytes leaves no garbage behind that a process would keep.
 *
 * @param onLine returns false to read no further
 * @param longest bytes of a line at most; a longer one is passed over
 */
export async function readByteLines(
  path: string,
  onLine: (line: ByteLine) => boolean | void,
  longest = Infinity
): Promise<void> {
  const handle = await open(path, 'r');
  try {
    // Small files are read at every step of a run: no megabytes for them. One byte more, in case it grows meanwhile.
    const { size } = await handle.stat();
    const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, size + 1));
    const line = new LineBuffer(longest);
    for (let position = 0; ;) {
      const { bytesRead } = await handle.read(piece, 0, piece.length, position);
      if (bytesRead === 0) break;
      const bytes = piece.subarray(0, bytesRead);
      let from = 0;
      for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
        line.add(bytes.subarray(from, at));
        from = at + 1;
        if (onLine(line.take(true)) === false) return;
      }
      line.add(bytes.subarray(from));
      position += bytesRead;
    }
    if (line.length > 0) onLine(line.take(false));
  } finally {
    await handle.close();
  }
}

/** The line that is being read. */
class LineBuffer {
  length = 0;
  private offset = 0;
  private buffer = Buffer.allocUnsafeSlow(LINE_BYTES);

  constructor(private readonly longest: number) {}

  add(bytes: Buffer): void {
    const length = this.length + bytes.length;
    if (length <= this.longest) {
      if (length > this.buffer.length) this.grow(length);
      bytes.copy(this.buffer, this.length);
    }
    this.length = length;
  }

  take(isWhole: boolean): ByteLine {
    const { offset, length, longest } = this;
    const bytes = length <= longest ? this.buffer.subarray(0, length) : undefined;
    this.offset += length + 1;
    this.length = 0;
    return { bytes, offset, length, isWhole };
  }

  private grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(length)));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }
}
