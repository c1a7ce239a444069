import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PipelineError } from '../contracts/pipeline-error.js';
import { storageError, writeFileAtomic } from './atomic-file.js';

/** Who tries to do a piece of work, and since when. */
export interface Attempt {
  /** Run of the workflow that asked for it. */
  workflowRun: string;
  /** Number within that run; a later attempt has a greater one. */
  sequence: number;
  /** When the server handed it out, by the server's clock. Orders attempts of different runs. Unit: milliseconds since 1970. */
  scheduledAt: number;
  activity: string;
  host: string;
  pid: number;
}

/**
 * Lets only the newest attempt at a piece of work write. An attempt that was given up (its host was frozen, or cut off from the
 * server) may still be at work when the next one begins; it is shut out from that moment, on whatever host it is.
 *
 * Each attempt leaves a file in the folder of the work and removes those of older attempts: whose file is gone has been overtaken.
 * No lock is held, so nothing has to be freed after a death.
 */
export class AttemptFence {
  private constructor(
    private readonly folder: string,
    private readonly file: string,
    private readonly attempt: Attempt
  ) {}

  /**
   * Begins an attempt.
   *
   * @throws PipelineError HostLost when a newer one has begun, StorageFailed
   */
  static async enter(folder: string, attempt: Attempt): Promise<AttemptFence> {
    const file = `${attempt.workflowRun}.${attempt.sequence}.json`;
    const fence = new AttemptFence(folder, file, attempt);
    try {
      await mkdir(folder, { recursive: true });
      await writeFileAtomic(join(folder, file), `${JSON.stringify(attempt)}\n`);
    } catch (error) {
      throw storageError(folder, error);
    }
    for (const { name, other } of await othersIn(folder, file)) {
      if (isNewer(other, attempt)) {
        await rm(join(folder, file), { force: true });
        throw overtaken(attempt, other);
      }
      await rm(join(folder, name), { force: true });
    }
    return fence;
  }

  /** Returns while this is the newest attempt. @throws PipelineError HostLost when it was overtaken */
  async check(): Promise<void> {
    const isThere = await stat(join(this.folder, this.file)).then(
      () => true,
      () => false
    );
    if (isThere) return;
    const [newest] = await othersIn(this.folder, this.file);
    throw overtaken(this.attempt, newest?.other);
  }
}

async function othersIn(folder: string, own: string): Promise<{ name: string; other: Attempt }[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json') && name !== own);
  const found: { name: string; other: Attempt }[] = [];
  for (const name of names) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => undefined);
    if (text !== undefined) found.push({ name, other: JSON.parse(text) as Attempt });
  }
  return found;
}

function isNewer(a: Attempt, b: Attempt): boolean {
  return a.workflowRun === b.workflowRun ? a.sequence > b.sequence : a.scheduledAt > b.scheduledAt;
}

function overtaken(attempt: Attempt, by: Attempt | undefined): PipelineError {
  const who = by === undefined ? 'a newer attempt' : `a newer attempt (process ${by.pid} on ${by.host})`;
  return new PipelineError('HostLost', `${who} has taken over ${attempt.activity}; this one may not write any more`);
}
