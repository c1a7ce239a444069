import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { writeFileAtomic } from '../../shared/artifacts/atomic-file.js';
import type { ProcessIdentity } from '../../shared/runtime/process-identity.js';
import { readLease, type EngineLease } from './lease.js';

const FILE = 'handed-back.json';

/**
 * Says that an engine is stopped because its worker shuts down in good order. Workers share engines: those that are in the middle
 * of something with it tell a deploy from a fault by this.
 */
export async function noteHandBack(folder: string, { engine, owner }: EngineLease): Promise<void> {
  await writeFileAtomic(join(folder, FILE), `${JSON.stringify({ engine, owner })}\n`);
}

/** What was known of an engine's going down in good order when some work with it began. */
export interface HandBackBefore {
  noted: string | undefined;
  /** The engine of then: it may have been handed back already, and not be gone yet. */
  engine: ProcessIdentity | undefined;
}

export async function handBackBefore(folder: string): Promise<HandBackBefore> {
  const [noted, lease] = await Promise.all([lastHandBack(folder), readLease(folder)]);
  return { noted, engine: lease?.engine };
}

/** Whether an engine went down in good order since some work with it began, or was about to then. */
export async function wasHandedBack(folder: string, before: HandBackBefore): Promise<boolean> {
  const now = await lastHandBack(folder);
  if (now === undefined) return false;
  return now !== before.noted || (before.engine !== undefined && isDeepStrictEqual(engineOf(now), before.engine));
}

function engineOf(note: string): unknown {
  try {
    return (JSON.parse(note) as { engine?: unknown }).engine;
  } catch {
    return undefined;
  }
}

/** What was noted last for a folder; another text means that another engine was handed back. Undefined when none was. */
async function lastHandBack(folder: string): Promise<string | undefined> {
  return await readFile(join(folder, FILE), 'utf8').catch(() => undefined);
}
