import { copyFile, stat, truncate } from 'node:fs/promises';

/** A log that gets longer is moved to `<log>.1`. Unit: bytes. */
const LONGEST_LOG = 32 * 1024 * 1024;
const LOOK_MS = 10_000;

/**
 * Keeps the log of a running program bounded: at most this much and as much again in `<log>.1`. The program goes on writing into
 * the same file, which it must have opened for appending; lines that it writes in the moment of the copy may be lost.
 *
 * @param path the log
 * @param longest bytes
 * @returns ends the watch
 */
export function boundLog(path: string, longest = LONGEST_LOG, everyMs = LOOK_MS): () => void {
  let busy = false;
  const look = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    try {
      if ((await stat(path)).size > longest) {
        await copyFile(path, `${path}.1`);
        await truncate(path, 0);
      }
    } catch {
      // A full disk, or the folder was removed: the log is not what the run is about.
    } finally {
      busy = false;
    }
  };
  const timer = setInterval(() => void look(), everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
