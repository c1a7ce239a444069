import { Context } from '@temporalio/activity';
import {
  SEARCH_ATTRIBUTES,
  type QueueFacts,
  type ServerFacts,
  type WorkflowQueueActivities,
} from '../shared/contracts/activities.js';
import { notify } from './notify.js';
import { activity } from './scope.js';

/** `TASK_QUEUE_TYPE_ACTIVITY` of Temporal's API. */
const ACTIVITY_QUEUE = 2;

/** A poller older than this is a worker that is gone: pollers come back at least every minute. */
const POLLER_FRESH_MS = 90_000;

async function countPollers(queue: string): Promise<number> {
  const { client } = Context.current();
  const reply = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: queue },
    taskQueueType: ACTIVITY_QUEUE,
  });
  const oldest = Date.now() - POLLER_FRESH_MS;
  return (reply.pollers ?? []).filter((poller) => Number(poller.lastAccessTime?.seconds ?? 0) * 1000 >= oldest).length;
}

/** Activities of the workflow worker: what the server knows, for people. */
export function serverActivities(): WorkflowQueueActivities {
  return {
    notify: activity(notify),
    inspectQueues: activity(async ({ queues }: { queues: string[] }): Promise<QueueFacts[]> => {
      return Promise.all(queues.map(async (queue) => ({ queue, pollers: await countPollers(queue) })));
    }),
    inspectServer: activity(async (_: object): Promise<ServerFacts> => {
      const { client } = Context.current();
      const reply = await client.connection.operatorService.listSearchAttributes({
        namespace: client.options.namespace,
      });
      const ours = new Set<string>(Object.values(SEARCH_ATTRIBUTES));
      return {
        searchAttributes: Object.keys(reply.customAttributes ?? {})
          .filter((name) => ours.has(name))
          .sort(),
      };
    }),
  };
}
