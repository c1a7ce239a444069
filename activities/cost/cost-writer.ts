import { appendFile, mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { COST_FOLDER, type CostRecord, type DiscardRecord } from '../../shared/cost/cost-record.js';
import { runDirectory } from '../../shared/artifacts/run-paths.js';
import type { RunHandle } from '../../shared/contracts/activities.js';

/** Lines of one process stand in the order they were written in. */
let tail: Promise<void> = Promise.resolve();

/** Notes what an attempt took. Never fails: a run does not end because its cost could not be noted. */
export function noteCost(run: RunHandle, record: CostRecord | DiscardRecord): Promise<void> {
  const folder = join(runDirectory(run.root, run.pipelineId), COST_FOLDER);
  tail = tail.then(async () => {
    try {
      // Not recursive: a run's folder is made by its first activity alone.
      await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
      await appendFile(join(folder, `${hostname()}-${process.pid}.jsonl`), `${JSON.stringify(record)}\n`);
    } catch {
      // A full disk or a vanished folder: the activity itself will say so.
    }
  });
  return tail;
}
