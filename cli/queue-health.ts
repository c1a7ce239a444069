import type { Progress } from '../shared/contracts/progress.js';
import {
  activityTaskQueue,
  LOCAL_TAG,
  ROLES,
  TAG_PATTERN,
  WORKFLOW_TASK_QUEUE,
  type Placement,
  type Role,
} from '../shared/contracts/queues.js';
import type { TemporalClient } from '../workers/temporal-target.js';
import { countPollers } from './pollers.js';

/** A task queue that a running stage needs, and how many workers ask it for work. */
export interface QueueHealth {
  queue: string;
  pollers: number;
  /** Command that starts a worker for it. */
  command: string;
}

const STAGE_ROLES: Readonly<Record<string, readonly Role[]>> = {
  resolve: ['data'],
  data: ['data'],
  smoke: ['data', 'rollout', 'train'],
  train: ['data', 'rollout', 'train'],
  convert: ['convert'],
  evaluate: ['evaluate'],
  judge: ['data'],
  report: ['data'],
};

/** Queues of the stages that run now, and the workflows' own. */
export async function queueHealth(client: TemporalClient, id: string, progress?: Progress): Promise<QueueHealth[]> {
  const placement = await placementOf(client, id);
  const declared = progress?.stages ?? [];
  const running = declared.filter((stage) => stage.state === 'running').map((stage) => stage.name);
  const stages = declared.length === 0 ? ['resolve'] : running;
  const roles = new Set(stages.flatMap((stage) => STAGE_ROLES[stage.split(':')[0] ?? ''] ?? []));
  const workflows: QueueHealth = {
    queue: WORKFLOW_TASK_QUEUE,
    pollers: await countPollers(client, WORKFLOW_TASK_QUEUE, 'workflow'),
    command: 'memagent worker --role workflow',
  };
  const activities = [...roles].map(async (role): Promise<QueueHealth> => {
    const queue = activityTaskQueue(role, placement[role]);
    const pollers = await countPollers(client, queue, 'activity');
    return { queue, pollers, command: `memagent worker --role ${role} --tag ${placement[role]}` };
  });
  return [workflows, ...(await Promise.all(activities))];
}

/** The recipe's placement, from the argument the workflow was started with; missing or wrong tags are `local`. */
async function placementOf({ client }: TemporalClient, id: string): Promise<Placement> {
  const reply = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId: id },
    maximumPageSize: 1,
  });
  const input = reply.history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
  let written: Record<string, unknown> = {};
  try {
    const recipe = JSON.parse(Buffer.from(input ?? []).toString('utf8')) as { placement?: Record<string, unknown> };
    written = recipe.placement ?? {};
  } catch {
    // Not JSON: the run will fail by itself and say so.
  }
  const tagOf = (role: Role): string => {
    const tag = written[role];
    return typeof tag === 'string' && TAG_PATTERN.test(tag) ? tag : LOCAL_TAG;
  };
  return Object.fromEntries(ROLES.map((role) => [role, tagOf(role)])) as Placement;
}
