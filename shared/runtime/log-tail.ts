import { open } from 'node:fs/promises';

const TAIL_BYTES = 8 * 1024;
const TAIL_LINES = 50;

/**
 * The last lines of a log, at most 50 of the last 8 KiB.
 *
 * @throws the system's error when the file cannot be read
 */
export async function lastLines(path: string, bytes = TAIL_BYTES, lines = TAIL_LINES): Promise<string[]> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const buffer = Buffer.alloc(Math.min(size, bytes));
    await handle.read(buffer, 0, buffer.byteLength, size - buffer.byteLength);
    return buffer.toString('utf8').split('\n').slice(-lines);
  } finally {
    await handle.close();
  }
}
