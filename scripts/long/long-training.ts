import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PIPELINE_WORKFLOW_TYPE, PROGRESS_QUERY, type Progress } from '../../shared/contracts/progress.js';
import { WORKFLOW_TASK_QUEUE } from '../../shared/contracts/queues.js';
import { connectClient } from '../../workers/temporal-target.js';
import { liveEngines } from '../chaos/engines.js';
import type { Stage } from '../chaos/processes.js';
import { historySize, type HistorySize } from './history-size.js';
import { tiniestRecipe } from './tiny-recipe.js';

/** Memory at a step. Unit: MiB of resident memory. */
export interface MemorySample {
  step: number;
  /** By name of the process; `engine` is the actor. */
  mebibytes: Record<string, number>;
}

export interface LongTraining {
  steps: number;
  seconds: number;
  history: HistorySize;
  memory: MemorySample[];
}

const LOOK_MS = 200;

/** Trains one arm for many steps and looks at memory when the steps of `at` are reached. */
export async function longTraining(
  stage: Stage,
  root: string,
  steps: number,
  at: readonly number[]
): Promise<LongTraining> {
  const connected = await connectClient(stage.target);
  const startedAt = performance.now();
  try {
    const handle = await connected.client.workflow.start(PIPELINE_WORKFLOW_TYPE, {
      taskQueue: WORKFLOW_TASK_QUEUE,
      workflowId: 'long',
      args: [tiniestRecipe(root, steps, 1, 'local')],
    });
    const memory: MemorySample[] = [];
    const waiting = [...at].sort((a, b) => a - b);
    while ((await handle.describe()).status.name === 'RUNNING') {
      const arm = (await handle.query<Progress>(PROGRESS_QUERY)).arms['relax'];
      if (arm?.phase === 'train' && arm.step >= (waiting[0] ?? Infinity)) {
        memory.push({ step: arm.step, mebibytes: memoryOf(stage, join(root, 'long')) });
        waiting.shift();
      }
      await pause(LOOK_MS);
    }
    await handle.result();
    const history = await historySize(connected, 'long/train-relax');
    return { steps, seconds: (performance.now() - startedAt) / 1000, history, memory };
  } finally {
    await connected.close();
  }
}

function memoryOf(stage: Stage, runDirectory: string): Record<string, number> {
  const [engine] = liveEngines(runDirectory);
  const named = [...stage.workers.map(({ name, pid }) => ({ name, pid })), { name: 'engine', pid: engine?.pid }];
  return Object.fromEntries(
    named.flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, Math.round(residentKib(pid) / 1024)]]))
  );
}

/** Resident memory of a process; only where `/proc` tells, else 0. */
function residentKib(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
