import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { hashFile } from '../../artifacts/atomic-file.js';

/** What the hub's listing says of a file. */
export interface HubFileFacts {
  path: string;
  size: number;
  /** SHA-256 of a file in large-file storage. */
  sha256?: string;
  /** Git's SHA-1 of a file that is in the repository itself. */
  gitOid?: string;
}

/**
 * Whether a file is the one of the listing.
 *
 * @returns its SHA-256, or what is wrong
 */
export async function verifyFile(path: string, facts: HubFileFacts): Promise<{ sha256: string } | { problem: string }> {
  const { sha256, bytes } = await hashFile(path);
  if (bytes !== facts.size) return { problem: `${bytes} bytes, the listing says ${facts.size}` };
  if (facts.sha256 !== undefined && facts.sha256 !== sha256) {
    return { problem: `SHA-256 ${sha256}, the listing says ${facts.sha256}` };
  }
  if (facts.sha256 !== undefined || facts.gitOid === undefined) return { sha256 };
  const oid = await gitBlobHash(path, bytes);
  return oid === facts.gitOid ? { sha256 } : { problem: `Git hash ${oid}, the listing says ${facts.gitOid}` };
}

/** Git's name of a blob: SHA-1 over `blob <size>\0` and the content. */
async function gitBlobHash(path: string, bytes: number): Promise<string> {
  const hash = createHash('sha1').update(`blob ${bytes}\0`);
  for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(piece as Buffer);
  return hash.digest('hex');
}
