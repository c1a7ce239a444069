import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '../../shared/artifacts/atomic-file.js';
import { readLease, type EngineLease } from './lease.js';

const FILE = 'handed-back.json';

/**
 * Says that an engine is stopped because its worker shuts down in good order. Workers share engines: those that are in the middle
 * of something with it tell a deploy from a fault by this.
 */
export async function noteHandBack(folder: string, lease: EngineLease): Promise<void> {
  await writeFileAtomic(join(folder, FILE), noteOf(lease));
}

function noteOf({ engine, owner }: EngineLease): string {
  return `${JSON.stringify({ engine, owner })}\n`;
}

/** What was known of an engine's going down in good order when some work with it began. */
export interface HandBackBefore {
  noted: string | undefined;
  /** What is noted of the engine of then: it may have been handed back already, and not be gone yet. */
  ofThen: string | undefined;
}

export async function handBackBefore(folder: string): Promise<HandBackBefore> {
  const [noted, lease] = await Promise.all([lastHandBack(folder), readLease(folder)]);
  return { noted, ofThen: lease === undefined ? undefined : noteOf(lease) };
}

/** Whether an engine went down in good order since some work with it began, or was about to then. */
export async function wasHandedBack(folder: string, { noted, ofThen }: HandBackBefore): Promise<boolean> {
  const now = await lastHandBack(folder);
  return now !== undefined && (now !== noted || now === ofThen);
}

/** What was noted last for a folder; another text means that another engine was handed back. Undefined when none was. */
async function lastHandBack(folder: string): Promise<string | undefined> {
  return await readFile(join(folder, FILE), 'utf8').catch(() => undefined);
}
