import { Runtime, makeTelemetryFilterString } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createActivities } from '../activities/index.js';
import { stopAllOwned } from '../engines/supervision/leased-process.js';
import { packageRoot } from '../shared/runtime/entry.js';
import { temporalLogger } from './log.js';
import type { QueuePlan } from './queue-plan.js';
import type { TemporalTarget } from './temporal-target.js';
import { connectWorker } from './worker-connection.js';
import { createWorkers, runWorkers } from './worker-set.js';

export interface WorkerProcessOptions {
  plans: readonly QueuePlan[];
  target: TemporalTarget;
  log: Logger;
  /** `host:port` of a Prometheus endpoint; none by default. */
  metricsAddress?: string;
}

function installRuntime(options: WorkerProcessOptions): void {
  Runtime.install({
    logger: temporalLogger(options.log),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
      ...(options.metricsAddress === undefined
        ? {}
        : {
            metrics: {
              prometheus: {
                bindAddress: options.metricsAddress,
                countersTotalSuffix: true,
                unitSuffix: true,
                useSecondsForDurations: true,
              },
            },
          }),
    },
  });
}

/**
 * Serves task queues until SIGINT or SIGTERM (the SDK's run time shuts the workers down on them). Sets up the process-wide run
 * time, so call it once in a process.
 *
 * @throws UserError when the server cannot be reached; the worker's own error when one fails
 */
export async function runWorkerProcess(options: WorkerProcessOptions): Promise<void> {
  const { log, plans, target } = options;
  installRuntime(options);
  const connection = await connectWorker(target);
  try {
    const activities = createActivities({ log, projectRoot: packageRoot() });
    const workers = await createWorkers(plans, { connection, namespace: target.namespace, activities });
    const queues = plans.map((plan) => `${plan.taskQueue} ×${plan.concurrency}`);
    log.info({ queues, address: target.address, namespace: target.namespace }, 'worker started');
    await runWorkers(workers);
    // Other workers use our engines too: by the note of this they tell a deploy from a fault. A worker that fails leaves them to the guard.
    await stopAllOwned();
    log.info({ queues }, 'worker stopped');
  } finally {
    await connection.close();
  }
}
