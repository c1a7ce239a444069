import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import type { Progress } from '../../shared/contracts/progress.js';
import { PIPELINE_WORKFLOW_TYPE, PROGRESS_QUERY } from '../../shared/contracts/progress.js';
import { WORKFLOW_TASK_QUEUE } from '../../shared/contracts/queues.js';
import type { PhiloxStream } from '../../shared/random/philox.js';
import { connectClient } from '../../workers/temporal-target.js';
import { activityHistory, type ActivityRun } from './activity-history.js';
import { strike, type FaultKind, type Target } from './faults.js';
import type { FaultRecord } from './ledger.js';
import type { ChaosPlan } from './plan.js';
import type { Stage } from './processes.js';
import type { SmallDisk } from './small-disk.js';

export interface RunPlan {
  stage: Stage;
  recipe: Record<string, unknown>;
  /** Workflow id. */
  id: string;
  runDirectory: string;
  /** Absent for a calm run. */
  chaos?: { plan: ChaosPlan; random: PhiloxStream; disk: SmallDisk | undefined; heartbeatMs: number };
  say(text: string): void;
}

export interface RunOutcome {
  seconds: number;
  faults: FaultRecord[];
  progress: Progress;
  runs: ActivityRun[];
  /** Artifacts that were published. */
  artifacts: number;
}

const LOOK_MS = 50;
/** A fault that finds nothing to hurt is tried at the next look, and after this time it is another one's turn. Unit: milliseconds. */
const NOTHING_TO_HURT_MS = 3_000;

/** Runs one pipeline to its end while it is hurt at the planned moments. @throws Error when it does not complete */
export async function runUnderFire(plan: RunPlan): Promise<RunOutcome> {
  const startedAt = performance.now();
  const connected = await connectClient(plan.stage.target);
  const { client } = connected;
  try {
    const handle = await client.workflow.start(PIPELINE_WORKFLOW_TYPE, {
      taskQueue: WORKFLOW_TASK_QUEUE,
      workflowId: plan.id,
      args: [plan.recipe],
    });
    const over = new AbortController();
    const finished = waitForEnd(handle).finally(() => over.abort());
    const faults = await fire(plan, handle, over.signal);
    const status = await finished;
    const seconds = (performance.now() - startedAt) / 1000;
    const progress = await retryWhileDown(() => handle.query<Progress>(PROGRESS_QUERY));
    if (status !== 'COMPLETED')
      throw new Error(`run ${plan.id} ended ${status}: ${JSON.stringify(progress.attempts.at(-1))}`);
    const runs = await retryWhileDown(() => activityHistory(connected, plan.id));
    return { seconds, faults, progress, runs, artifacts: countArtifacts(plan.runDirectory) };
  } finally {
    await connected.close();
  }
}

/** Published artifacts of a run: one sidecar each. */
function countArtifacts(runDirectory: string): number {
  const folder = join(runDirectory, '.meta');
  if (!existsSync(folder)) return 0;
  return readdirSync(folder, { recursive: true }).filter((name) => String(name).endsWith('.json')).length;
}

async function fire(plan: RunPlan, handle: WorkflowHandle, over: AbortSignal): Promise<FaultRecord[]> {
  const records: FaultRecord[] = [];
  if (plan.chaos === undefined) return records;
  const { kinds, moments } = plan.chaos.plan;
  const waiting = [...kinds];
  const target: Target = {
    ...plan.chaos,
    stage: plan.stage,
    runDirectory: plan.runDirectory,
    progress: () => handle.query<Progress>(PROGRESS_QUERY).catch(() => undefined),
  };
  let seen = 0;
  for (const moment of moments) {
    const least = moment.atOnce ? moment.artifacts : Math.max(moment.artifacts, seen + 1);
    while (!over.aborted && countArtifacts(plan.runDirectory) < least) await pause(LOOK_MS);
    await pause(moment.thenMs);
    const record = await strikeNext(waiting, target, over);
    if (record === undefined) break;
    records.push(record);
    plan.say(faultLine(records.length, record));
    seen = countArtifacts(plan.runDirectory);
  }
  return records;
}

/** Does the first of the waiting faults that finds something to hurt. */
async function strikeNext(waiting: FaultKind[], target: Target, over: AbortSignal): Promise<FaultRecord | undefined> {
  const patience = performance.now() + NOTHING_TO_HURT_MS;
  for (let index = 0; !over.aborted; index += 1) {
    const kind = waiting[index] ?? (performance.now() < patience ? undefined : 'kill worker');
    if (kind === undefined) {
      index = -1;
      await pause(LOOK_MS);
      continue;
    }
    const from = Date.now();
    const hit = await strike(kind, target);
    if (hit === undefined) continue;
    waiting.splice(index < waiting.length ? index : 0, 1);
    return { ...hit, kind, from, to: Date.now() };
  }
  return undefined;
}

function faultLine(number: number, { what, from, to }: FaultRecord): string {
  return `fault ${number}: ${new Date(from).toISOString().slice(11, 23)} ${what} (${((to - from) / 1000).toFixed(1)} s)`;
}

/** Asks for the status until it is final; the server may be down at any moment. */
async function waitForEnd(handle: WorkflowHandle): Promise<string> {
  for (;;) {
    const now = await retryWhileDown(() => handle.describe().then((facts) => facts.status.name));
    if (now !== 'RUNNING') return now;
    await pause(250);
  }
}

async function retryWhileDown<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (tries > 240) throw error;
      await pause(500);
    }
  }
}
