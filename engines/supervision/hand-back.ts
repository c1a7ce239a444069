import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '../../shared/artifacts/atomic-file.js';
import type { EngineLease } from './lease.js';

const FILE = 'handed-back.json';

/**
 * Says that an engine is stopped because its worker shuts down in good order. Workers share engines: those that are in the middle
 * of something with it tell a deploy from a fault by this.
 */
export async function noteHandBack(folder: string, { engine, owner }: EngineLease): Promise<void> {
  await writeFileAtomic(join(folder, FILE), `${JSON.stringify({ engine, owner })}\n`);
}

/** What was noted last for a folder; another text means that another engine was handed back. Undefined when none was. */
export async function lastHandBack(folder: string): Promise<string | undefined> {
  return await readFile(join(folder, FILE), 'utf8').catch(() => undefined);
}
