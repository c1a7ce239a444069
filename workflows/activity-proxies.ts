import { proxyActivities, type ActivityOptions } from '@temporalio/workflow';
import type {
  ConvertActivities,
  DataActivities,
  EvaluateActivities,
  RolloutActivities,
  TrainActivities,
  WorkflowQueueActivities,
} from '../shared/contracts/activities.js';
import { activityTaskQueue, WORKFLOW_TASK_QUEUE, type Placement } from '../shared/contracts/queues.js';
import type { Recipe } from '../shared/contracts/recipe.js';

/** Retries are ours (retry-loop.ts): the server's count cannot tell a deploy from a fault. */
const NO_SERVER_RETRY = { maximumAttempts: 1 } as const;

/** Activities whose length depends on data and model: ended by a missing heartbeat, not by a clock. */
const LONGEST_ACTIVITY = '7 days';

export type Limits = Recipe['limits'];

function longOptions(taskQueue: string, limits: Limits): ActivityOptions {
  return {
    taskQueue,
    startToCloseTimeout: LONGEST_ACTIVITY,
    heartbeatTimeout: `${limits.heartbeatSeconds}s`,
    retry: NO_SERVER_RETRY,
  };
}

function stepOptions(taskQueue: string, limits: Limits): ActivityOptions {
  return { ...longOptions(taskQueue, limits), startToCloseTimeout: `${limits.stepTimeoutMinutes} minutes` };
}

type JobActivities = Pick<TrainActivities, 'preflight' | 'runTrainingJob'>;

export interface Proxies {
  data: ReturnType<typeof proxyActivities<DataActivities>>;
  rollout: ReturnType<typeof proxyActivities<RolloutActivities>>;
  train: ReturnType<typeof proxyActivities<TrainActivities>>;
  /** Activities of role train that last as long as a job does. */
  job: ReturnType<typeof proxyActivities<JobActivities>>;
  convert: ReturnType<typeof proxyActivities<ConvertActivities>>;
  evaluate: ReturnType<typeof proxyActivities<EvaluateActivities>>;
}

/** Activity proxies of a recipe: each role on the queue of its tag. */
export function proxiesFor(placement: Placement, limits: Limits): Proxies {
  return {
    data: proxyActivities<DataActivities>(longOptions(activityTaskQueue('data', placement.data), limits)),
    rollout: proxyActivities<RolloutActivities>(stepOptions(activityTaskQueue('rollout', placement.rollout), limits)),
    train: proxyActivities<TrainActivities>(stepOptions(activityTaskQueue('train', placement.train), limits)),
    job: proxyActivities<JobActivities>(longOptions(activityTaskQueue('train', placement.train), limits)),
    convert: proxyActivities<ConvertActivities>(longOptions(activityTaskQueue('convert', placement.convert), limits)),
    evaluate: proxyActivities<EvaluateActivities>(
      longOptions(activityTaskQueue('evaluate', placement.evaluate), limits)
    ),
  };
}

/**
 * `resolveRecipe` runs before the recipe is known to be right: its queue comes from the raw value, if that has one, and its
 * heartbeat time-out from here. It downloads the model where that is not there yet, which takes as long as it takes.
 */
export function resolveProxy(tag: string): ReturnType<typeof proxyActivities<DataActivities>> {
  return proxyActivities<DataActivities>({
    taskQueue: activityTaskQueue('data', tag),
    startToCloseTimeout: LONGEST_ACTIVITY,
    heartbeatTimeout: '30s',
    retry: NO_SERVER_RETRY,
  });
}

/** A webhook gets some seconds and tries; then it is left alone, so that it cannot hold up the run's end. */
export const notifier = proxyActivities<WorkflowQueueActivities>({
  taskQueue: WORKFLOW_TASK_QUEUE,
  startToCloseTimeout: '8s',
  scheduleToCloseTimeout: '30s',
  retry: { initialInterval: '1s', maximumAttempts: 4 },
});

/** Activities of the workflow worker itself: short looks at the server, with the server's own retry. */
export const server = proxyActivities<WorkflowQueueActivities>({
  taskQueue: WORKFLOW_TASK_QUEUE,
  startToCloseTimeout: '20s',
  retry: { maximumAttempts: 3 },
});
