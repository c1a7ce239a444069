import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
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
 * @throws Error that names the holder when the wait was too long
 */
export async function withFileLock<T>(path: string, limitMs: number, body: () => Promise<T>): Promise<T> {
  const mine: Holder = { ...identify(process.pid), host: hostname(), token: randomUUID() };
  await mkdir(dirname(path), { recursive: true });
  const deadline = performance.now() + limitMs;
  while (!(await tryLock(path, mine))) {
    const holder = await readHolder(path);
    if (holder !== undefined && isGone(holder)) await takeAway(path, holder);
    else if (performance.now() > deadline) throw new Error(`${path} is held by process ${holder?.pid ?? 'unknown'}`);
    else await pause(POLL_MS);
  }
  try {
    return await body();
  } finally {
    if ((await readHolder(path))?.token === mine.token) await rm(path, { force: true });
  }
}

/** A link appears with its content: a lock file is never seen empty, not even when its maker dies in between. */
async function tryLock(path: string, mine: Holder): Promise<boolean> {
  const draft = `${path}.${mine.token}`;
  await writeFile(draft, JSON.stringify(mine));
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder;
  } catch {
    return undefined;
  }
}

function isGone(holder: Holder): boolean {
  return holder.host === hostname() && !isAlive(holder);
}

/** Of several that see a dead holder only one renames its file; a file that is not the dead one's any more is put back. */
async function takeAway(path: string, dead: Holder): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  if ((await readHolder(aside))?.token === dead.token) await rm(aside, { force: true });
  else await rename(aside, path).catch(() => undefined);
}
