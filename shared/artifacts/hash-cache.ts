import { createHash } from 'node:crypto';
import type { Dirent, BigIntStats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setBounded } from '../runtime/bounded-map.js';
import { hashFile } from './atomic-file.js';

/** One file of a folder artifact; `name` is relative to the folder, with `/`. */
export interface FileFacts {
  name: string;
  sha256: string;
  bytes: number;
}

/** Entries kept; the oldest is dropped first. */
const CACHE_LIMIT = 20_000;
const cache = new Map<string, { sha256: string; bytes: number }>();

/**
 * Hash of a file, computed again only when the file changed: inode, size, modification and change time (in nanoseconds) are
 * compared. The change time cannot be set by a program, so an edit with restored times is seen too.
 */
export async function hashFileCached(path: string): Promise<{ sha256: string; bytes: number }> {
  const before = identity(await stat(path, { bigint: true }));
  const known = cache.get(before);
  if (known !== undefined) return known;
  const facts = await hashFile(path);
  // Changed while it was read: the hash belongs to neither state and must not be remembered.
  if (identity(await stat(path, { bigint: true })) === before) remember(before, facts);
  return facts;
}

/**
 * Runs `change`, which gives a file another name or one more, and so another change time: its hash stays known. Nothing is taken
 * on trust: a file that was not known before, or whose bytes were written meanwhile, is hashed at the next question.
 */
export async function stayKnown(path: string, change: () => Promise<void>): Promise<void> {
  const before = await stat(path, { bigint: true });
  const key = identity(before);
  const known = cache.get(key);
  await change();
  const after = await stat(path, { bigint: true });
  const same = after.ino === before.ino && after.size === before.size && after.mtimeNs === before.mtimeNs;
  // The file will not be in its earlier state again.
  cache.delete(key);
  if (known !== undefined && same) remember(identity(after), known);
}

function remember(key: string, facts: { sha256: string; bytes: number }): void {
  setBounded(cache, key, facts, CACHE_LIMIT);
}

function identity(facts: BigIntStats): string {
  return [facts.dev, facts.ino, facts.size, facts.mtimeNs, facts.ctimeNs].join(':');
}

/** Paths of all files below a folder, relative with `/`, in code-unit order. Links are not followed but listed. */
export async function listFiles(
  folder: string,
  skip: (name: string, entry: Dirent) => boolean = () => false
): Promise<string[]> {
  const names: string[] = [];
  const visit = async (prefix: string): Promise<void> => {
    for (const entry of await readdir(join(folder, prefix), { withFileTypes: true })) {
      const name = prefix === '' ? entry.name : `${prefix}/${entry.name}`;
      if (skip(name, entry)) continue;
      if (entry.isDirectory()) await visit(name);
      else names.push(name);
    }
  };
  await visit('');
  return names.sort();
}

/** Facts of every file below a folder, sorted by name. */
export async function hashFolder(folder: string): Promise<FileFacts[]> {
  const facts: FileFacts[] = [];
  for (const name of await listFiles(folder)) facts.push({ name, ...(await hashFileCached(join(folder, name))) });
  return facts;
}

/**
 * Hash and size of a folder artifact: SHA-256 over the lines `name NUL sha256 NUL bytes LF`, sorted by name. It depends on
 * names and contents only, not on times, owners or modes.
 */
export function folderFacts(files: readonly FileFacts[]): { sha256: string; bytes: number } {
  const hash = createHash('sha256');
  let bytes = 0;
  for (const file of [...files].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    hash.update(`${file.name}\0${file.sha256}\0${file.bytes}\n`);
    bytes += file.bytes;
  }
  return { sha256: hash.digest('hex'), bytes };
}
