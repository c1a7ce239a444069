import { setTimeout as pause } from 'node:timers/promises';
import { WorkflowFailedError } from '@temporalio/client';
import { PIPELINE_WORKFLOW_TYPE, PROGRESS_QUERY, type Progress } from '../../shared/contracts/progress.js';
import { WORKFLOW_TASK_QUEUE } from '../../shared/contracts/queues.js';
import { connectClient } from '../../workers/temporal-target.js';
import { leftovers } from '../chaos/leftovers.js';
import type { Stage } from '../chaos/processes.js';

/** Where a run is cancelled: as soon as its progress says so. */
export interface CancelPoint {
  name: string;
  reached(progress: Progress): boolean;
}

const inStage =
  (name: string) =>
  ({ stages }: Progress): boolean =>
    stages.some((stage) => stage.name === name && stage.state === 'running');

export const CANCEL_POINTS: readonly CancelPoint[] = [
  { name: 'at its start', reached: () => true },
  { name: 'while it prepares data', reached: inStage('data') },
  { name: 'in the smoke gate', reached: inStage('smoke:relax') },
  { name: 'while it trains', reached: ({ arms }) => arms['relax']?.phase === 'train' && arms['relax'].step >= 2 },
  { name: 'while it evaluates', reached: inStage('evaluate') },
];

export interface Cancelled {
  name: string;
  /** From the request to the workflow's end. Unit: seconds. */
  endedAfter: number;
  /** From the request until nothing is left: no process, lease or unfinished file. Unit: seconds. */
  cleanAfter: number;
  left: string[];
}

const LOOK_MS = 20;
const CLEAN_LIMIT_MS = 20_000;
/** An activity that is being cancelled may have no file open for a moment: what stays clean this long is clean. */
const STAYS_CLEAN_MS = 500;

/** Since when nothing of a root's runs is left. */
async function untilClean(root: string, deadline: number): Promise<{ cleanAt: number; left: string[] }> {
  let cleanAt: number | undefined;
  for (;;) {
    const now = performance.now();
    const left = leftovers(root);
    if (left.length > 0) cleanAt = undefined;
    else cleanAt ??= now;
    if (cleanAt !== undefined && now - cleanAt >= STAYS_CLEAN_MS) return { cleanAt, left };
    if (now >= deadline) return { cleanAt: now, left };
    await pause(LOOK_MS);
  }
}

/** Cancels one run at a point and says how long it took until nothing of it was left. */
export async function cancelDrill(
  { name, reached }: CancelPoint,
  run: { stage: Stage; recipe: Record<string, unknown>; id: string; root: string }
): Promise<Cancelled> {
  const connected = await connectClient(run.stage.target);
  try {
    const handle = await connected.client.workflow.start(PIPELINE_WORKFLOW_TYPE, {
      taskQueue: WORKFLOW_TASK_QUEUE,
      workflowId: run.id,
      args: [run.recipe],
    });
    for (;;) {
      const progress = await handle.query<Progress>(PROGRESS_QUERY).catch(() => undefined);
      if (progress !== undefined && reached(progress)) break;
      await pause(LOOK_MS);
    }
    const from = performance.now();
    await handle.cancel();
    await handle.result().catch((error: unknown) => {
      if (!(error instanceof WorkflowFailedError)) throw error;
    });
    const endedAfter = (performance.now() - from) / 1000;
    const { cleanAt, left } = await untilClean(run.root, from + CLEAN_LIMIT_MS);
    return { name, endedAfter, cleanAfter: (cleanAt - from) / 1000, left };
  } finally {
    await connected.close();
  }
}
