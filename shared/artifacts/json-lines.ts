import { createReadStream } from 'node:fs';

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
  const take = (line: Buffer): void => {
    if (line.length === 0) return;
    let value: unknown;
    try {
      value = JSON.parse(line.toString('utf8'));
    } catch {
      bad += 1;
      return;
    }
    onValue(value);
  };
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    let rest = chunk as Buffer;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      take(Buffer.concat([...pieces, rest.subarray(0, end)]));
      pieces = [];
      length = 0;
      rest = rest.subarray(end + 1);
    }
    length += rest.length;
    if (length <= LONGEST_LINE) pieces.push(Buffer.from(rest));
    else pieces = [Buffer.from('too long')];
  }
  take(Buffer.concat(pieces));
  return bad;
}
