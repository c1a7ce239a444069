import type { TemporalClient } from '../workers/temporal-target.js';

/** Numbers of `TaskQueueType` in Temporal's API. */
const QUEUE_TYPE = { workflow: 1, activity: 2 } as const;

/** Pollers come back at least every minute; an older one is a worker that is gone. Unit: milliseconds. */
const POLLER_FRESH_MS = 90_000;

/** How many workers asked a task queue for work lately. */
export async function countPollers(
  { client }: TemporalClient,
  queue: string,
  type: keyof typeof QUEUE_TYPE
): Promise<number> {
  const reply = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: queue },
    taskQueueType: QUEUE_TYPE[type],
  });
  const oldest = Date.now() - POLLER_FRESH_MS;
  return (reply.pollers ?? []).filter((poller) => Number(poller.lastAccessTime?.seconds ?? 0) * 1000 >= oldest).length;
}
