import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { newestCheckpoint, TRACKER_FILE } from '../checkpoints.js';

/** The newest complete checkpoint of a job that runs, examined again only after another save ended. */
export class CheckpointWatch {
  private seen = '';
  private known: number | undefined;

  constructor(private readonly dir: string) {}

  async step(): Promise<number | undefined> {
    const tracker = await stat(join(this.dir, TRACKER_FILE)).catch(() => undefined);
    const seen = tracker === undefined ? '' : `${tracker.ino}:${tracker.mtimeMs}:${tracker.size}`;
    if (seen === this.seen) return this.known;
    this.known = (await newestCheckpoint(this.dir)).newest?.step;
    this.seen = seen;
    return this.known;
  }
}
