import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createFile, removeFile } from '../artifacts/create-file.js';
import { identify, isAlive, type ProcessIdentity } from '../runtime/process-identity.js';

interface Holder extends ProcessIdentity {
  host: string;
  token: string;
}

const POLL_MS = 200;

/**
 * Runs `body` while no other process on this machine does so under the same lock file. What it guards must also be right without
 * it (here: a rename at the end), because a lock of a process that died is taken over.
 *
 * @param limitMs - how long to wait for the other process
 * @param signal - ends the wait
 * @throws Error that names the holder when the wait was too long; AbortError
 */
export async function withFileLock<T>(
  path: string,
  limitMs: number,
  body: () => Promise<T>,
  signal?: AbortSignal
): Promise<T> {
  const mine: Holder = { ...identify(process.pid), host: hostname(), token: randomUUID() };
  await mkdir(dirname(path), { recursive: true });
  const deadline = performance.now() + limitMs;
  while (!(await createFile(path, JSON.stringify(mine)))) {
    const holder = await readHolder(path);
    if (holder !== undefined && isGone(holder)) await removeFile(path, (text) => parse(text)?.token === holder.token);
    else if (performance.now() > deadline) throw new Error(`${path} is held by process ${holder?.pid ?? 'unknown'}`);
    else await pause(POLL_MS, undefined, { signal });
  }
  try {
    return await body();
  } finally {
    if ((await readHolder(path))?.token === mine.token) await rm(path, { force: true });
  }
}

async function readHolder(path: string): Promise<Holder | undefined> {
  return parse(await readFile(path, 'utf8').catch(() => ''));
}

function parse(text: string): Holder | undefined {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return undefined;
  }
}

function isGone(holder: Holder): boolean {
  return holder.host === hostname() && !isAlive(holder);
}
