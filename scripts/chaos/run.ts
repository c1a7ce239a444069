import { setTimeout as pause } from 'node:timers/promises';
import type { Progress } from '../../shared/contracts/progress.js';
import { PIPELINE_WORKFLOW_TYPE, PROGRESS_QUERY } from '../../shared/contracts/progress.js';
import { WORKFLOW_TASK_QUEUE } from '../../shared/contracts/queues.js';
import { PhiloxStream } from '../../shared/random/philox.js';
import { connectClient } from '../../workers/temporal-target.js';
import { FAULTS, strike, type Fault } from './faults.js';
import type { Stage } from './processes.js';

export interface RunPlan {
  stage: Stage;
  recipe: Record<string, unknown>;
  id: string;
  runDirectory: string;
  seed: number;
  /** Faults to do; 0 = a calm run. */
  faults: number;
  say(text: string): void;
}

export interface RunOutcome {
  seconds: number;
  done: Record<Fault, number>;
  progress: Progress;
}

/** Runs one pipeline to its end while it is hurt at seeded moments. */
export async function runUnderFire(plan: RunPlan): Promise<RunOutcome> {
  const startedAt = performance.now();
  const connected = await connectClient(plan.stage.target);
  const { client } = connected;
  try {
    await client.workflow.start(PIPELINE_WORKFLOW_TYPE, {
      taskQueue: WORKFLOW_TASK_QUEUE,
      workflowId: plan.id,
      args: [plan.recipe],
    });
    const handle = client.workflow.getHandle(plan.id);
    let over = false;
    const finished = waitForEnd(() => handle.describe().then((facts) => facts.status.name)).finally(
      () => (over = true)
    );
    const done = await fire(plan, () => over);
    const status = await finished;
    const progress = await retryWhileDown(() => handle.query<Progress>(PROGRESS_QUERY));
    if (status !== 'COMPLETED')
      throw new Error(`run ${plan.id} ended ${status}: ${JSON.stringify(progress.attempts.at(-1))}`);
    return { seconds: (performance.now() - startedAt) / 1000, done, progress };
  } finally {
    await connected.close();
  }
}

async function fire(plan: RunPlan, over: () => boolean): Promise<Record<Fault, number>> {
  const random = new PhiloxStream(plan.seed, [0x4348_414f, 0, 0]);
  const done: Record<Fault, number> = { engine: 0, worker: 0, server: 0, deploy: 0 };
  for (let count = 0; count < plan.faults && !over();) {
    await pause(1_000 + random.nextUniform() * 4_000);
    if (over()) break;
    const fault = FAULTS[random.nextInt(FAULTS.length)] as Fault;
    const what = await strike(fault, plan.stage, plan.runDirectory, random.nextUniform());
    if (what === undefined) continue;
    count += 1;
    done[fault] += 1;
    plan.say(`fault ${count}: ${what}`);
  }
  return done;
}

/** Asks for the status until it is final; the server may be down at any moment. */
async function waitForEnd(status: () => Promise<string>): Promise<string> {
  for (;;) {
    const now = await retryWhileDown(status);
    if (now !== 'RUNNING') return now;
    await pause(500);
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
