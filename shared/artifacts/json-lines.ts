import { readByteLines } from './byte-lines.js';

/** A line longer than this counts as bad: it would need its size several times over in memory. Unit: bytes. */
const LONGEST_LINE = 256 * 1024 * 1024;

/**
 * Calls `onValue` for each line of a JSON Lines file, in order, with one line in memory at a time. Only a line feed ends a
 * line (U+2028 and the like are text); empty lines are passed over.
 *
 * @returns lines that are not JSON (torn, too long)
 */
export async function readJsonLines(path: string, onValue: (value: unknown) => void): Promise<number> {
  let bad = 0;
  await readByteLines(
    path,
    ({ bytes }) => {
      if (bytes?.length === 0) return;
      let value: unknown;
      try {
        if (bytes === undefined) throw new Error('too long');
        value = JSON.parse(bytes.toString('utf8'));
      } catch {
        bad += 1;
        return;
      }
      onValue(value);
    },
    LONGEST_LINE
  );
  return bad;
}
