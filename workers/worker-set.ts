import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import type { ActivitiesByRole } from '../activities/index.js';
import { entryPath } from '../shared/runtime/entry.js';
import type { QueuePlan } from './queue-plan.js';

/** An activity that was told about the shutdown gets this long to write what it must. */
const SHUTDOWN_GRACE = '2s';
/** Then the worker gives its activities up: a restart must not wait for a step of minutes. */
const SHUTDOWN_FORCE = '15s';
/** Heartbeats reach the server at least this often, so that a cancellation comes within seconds. */
const HEARTBEAT_THROTTLE = '2s';

/** A workflow task that the worker which has the workflow in memory does not take in this time goes to any other, which replays. */
const STICKY_WAIT = '3s';

export interface WorkerSetOptions {
  connection: NativeConnection;
  namespace: string;
  activities: ActivitiesByRole;
}

function workerOptions(plan: QueuePlan, options: WorkerSetOptions): WorkerOptions {
  const common: WorkerOptions = {
    connection: options.connection,
    namespace: options.namespace,
    taskQueue: plan.taskQueue,
    maxConcurrentActivityTaskExecutions: plan.concurrency,
    maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
    shutdownGraceTime: SHUTDOWN_GRACE,
    shutdownForceTime: SHUTDOWN_FORCE,
  };
  if (plan.role !== 'workflow') return { ...common, activities: options.activities[plan.role] };
  return {
    ...common,
    activities: options.activities.workflowQueue,
    stickyQueueScheduleToStartTimeout: STICKY_WAIT,
    workflowBundle: { codePath: entryPath('workflow-bundle.js') },
  };
}

/** One worker a task queue, all on one connection. */
export async function createWorkers(plans: readonly QueuePlan[], options: WorkerSetOptions): Promise<Worker[]> {
  const workers: Worker[] = [];
  for (const plan of plans) workers.push(await Worker.create(workerOptions(plan, options)));
  return workers;
}

/**
 * Runs workers until all have stopped. When one fails the others are shut down too: a process that serves half of its queues
 * looks alive and is not.
 *
 * @throws the first failure
 */
export async function runWorkers(workers: readonly Worker[]): Promise<void> {
  const failures: unknown[] = [];
  await Promise.all(
    workers.map((worker) =>
      worker.run().catch((error: unknown) => {
        failures.push(error);
        workers.forEach(shutDown);
      })
    )
  );
  if (failures.length > 0) throw failures[0];
}

/** A worker that is already stopping refuses a second request. */
export function shutDown(worker: Worker): void {
  if (worker.getState() === 'RUNNING') worker.shutdown();
}
