import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readJsonLines } from '../artifacts/json-lines.js';

/** Folder of a run for what its attempts took; no artifact, because it differs each time the same work is done. */
export const COST_FOLDER = '.cost';

/** What a piece of work took. */
export interface Spent {
  /** Wall time. Unit: seconds. */
  seconds: number;
  /** CPU time of the worker's process, shared evenly by the activities that ran in it at the same time. Unit: seconds. */
  workerCpu: number;
  /** CPU time of the engine's process on the same host. Unit: seconds. */
  engineCpu: number;
}

/**
 * One line of `.cost/<host>-<pid>.jsonl`: an attempt of an activity, as far as it had come when the line was written. The last
 * line of an id counts.
 */
export interface CostRecord extends Spent {
  /** Of the attempt, unique within the run. */
  id: string;
  stage: string;
  /** What a repetition would do again: activity, model, data set, step. */
  work: string;
  host: string;
  /** ISO 8601 time of the attempt's start. */
  at: string;
  /** `running` until a later line says how it ended. */
  state: 'running' | 'done' | 'failed';
  /** GPUs that the attempt held. */
  gpus: number;
  /** Part of it that brought an engine back to where it had been. */
  redone: Spent;
}

/** A stage whose results an operator had put aside: its attempts until then were for nothing. */
export interface DiscardRecord {
  discarded: string;
  at: string;
}

/**
 * Everything that the workers of a run noted, in no order. Torn lines of processes that were killed are left out.
 *
 * @returns undefined when nothing was noted, or the folder is not on this machine
 */
export async function readCostRecords(
  directory: string
): Promise<{ attempts: CostRecord[]; discards: DiscardRecord[] } | undefined> {
  const folder = join(directory, COST_FOLDER);
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.jsonl')).sort();
  if (names.length === 0) return undefined;
  const attempts = new Map<string, CostRecord>();
  const discards: DiscardRecord[] = [];
  for (const name of names) {
    await readJsonLines(join(folder, name), (value) => {
      const record = value as Partial<CostRecord & DiscardRecord> | null;
      if (typeof record?.discarded === 'string') discards.push(record as DiscardRecord);
      else if (typeof record?.id === 'string') attempts.set(`${name}/${record.id}`, record as CostRecord);
    });
  }
  return { attempts: [...attempts.values()], discards };
}
