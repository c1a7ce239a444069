import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** Files that must not be there when no run of a root is going on. */
const UNFINISHED = /\.partial-|(^|\/)engine\.(json|lock)$/;

/**
 * What the runs of a root left behind once all of them have ended: unfinished files, leases and locks, and processes that hold a
 * file of the root open. An engine's log is its standard error, so a port that is still held has its engine in this list.
 *
 * @returns one sentence each; empty when everything is clean
 */
export function leftovers(root: string): string[] {
  return [...unfinishedFiles(root), ...processesIn(root)];
}

function unfinishedFiles(root: string): string[] {
  return filesBelow(root)
    .map((path) => relative(root, path).split(sep).join('/'))
    .filter((name) => UNFINISHED.test(name))
    .map((name) => `file ${name}`);
}

function filesBelow(root: string): string[] {
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, withFileTypes: true }).map((entry) => join(entry.parentPath, entry.name));
}

/** Processes with an open file, or their working directory, below the root; only where `/proc` tells. */
function processesIn(root: string): string[] {
  const inside = (link: string): boolean => link.startsWith(root + sep);
  return listed('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter(
      (pid) =>
        listed(`/proc/${pid}/fd`).some((fd) => inside(target(`/proc/${pid}/fd/${fd}`))) ||
        inside(target(`/proc/${pid}/cwd`))
    )
    .map((pid) => `process ${pid} (${commandOf(pid)})`);
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The process is gone, or not ours to look at.
    return [];
  }
}

function target(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 120);
  } catch {
    return 'gone';
  }
}
