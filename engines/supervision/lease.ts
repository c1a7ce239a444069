import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { writeFileAtomic } from '../../shared/artifacts/atomic-file.js';
import type { ProcessIdentity } from '../../shared/runtime/process-identity.js';

/** Who runs an engine and where it listens: `engine.json` in the engine's folder. */
export interface EngineLease {
  host: string;
  engine: ProcessIdentity;
  owner: ProcessIdentity;
  port: number;
  /** Grows with every engine started in this folder. */
  token: number;
  /** Hash of the specification and of the model files the engine was started with. */
  specHash: string;
  /** Time it needs to end in good order. Unit: milliseconds. Default 5,000. */
  graceMs?: number;
}

const LEASE_FILE = 'engine.json';

export async function readLease(folder: string): Promise<EngineLease | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, LEASE_FILE), 'utf8')) as EngineLease;
  } catch {
    // Missing or torn: nobody holds it.
    return undefined;
  }
}

/** Whether there is one, also when it cannot be read. */
export function hasLease(folder: string): boolean {
  return existsSync(join(folder, LEASE_FILE));
}

export async function writeLease(folder: string, lease: EngineLease): Promise<void> {
  await writeFileAtomic(join(folder, LEASE_FILE), `${JSON.stringify(lease)}\n`);
}

export async function removeLease(folder: string): Promise<void> {
  await rm(join(folder, LEASE_FILE), { force: true });
}

/** Whether the leased engine runs on this host. A lease of another host is never touched. */
export function isHere(lease: EngineLease): boolean {
  return lease.host === hostname();
}
