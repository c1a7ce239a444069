import { nearestName } from '../shared/contracts/nearest-name.js';
import {
  activityTaskQueue,
  LOCAL_TAG,
  ROLES,
  TAG_PATTERN,
  WORKFLOW_TASK_QUEUE,
  type Role,
} from '../shared/contracts/queues.js';
import { EXIT, UserError } from '../shared/contracts/user-error.js';

/** Activity roles, and `workflow`: the worker that runs the workflows themselves. */
export type WorkerRole = Role | 'workflow';

export const WORKER_ROLES: readonly WorkerRole[] = ['workflow', ...ROLES];

/** One task queue that a worker process polls. */
export interface QueuePlan {
  role: WorkerRole;
  taskQueue: string;
  /** Activities at once. */
  concurrency: number;
}

/**
 * Reads roles as given on the command line: repeated, separated by commas, or `all`.
 *
 * @throws UserError that names the unknown role and the known ones
 */
export function parseRoles(values: readonly string[]): WorkerRole[] {
  const names = values.flatMap((value) => value.split(',')).map((name) => name.trim());
  if (names.length === 0)
    throw new UserError('no role was given', { cure: `Add --role with one of ${known()}.`, exitCode: EXIT.usage });
  const roles = new Set<WorkerRole>();
  for (const name of names) {
    if (name === 'all') WORKER_ROLES.forEach((role) => roles.add(role));
    else if ((WORKER_ROLES as readonly string[]).includes(name)) roles.add(name as WorkerRole);
    else throw unknownRole(name);
  }
  return WORKER_ROLES.filter((role) => roles.has(role));
}

function known(): string {
  return [...WORKER_ROLES, 'all'].join(', ');
}

function unknownRole(name: string): UserError {
  const near = nearestName(name, [...WORKER_ROLES, 'all']);
  return new UserError(
    `unknown role ${JSON.stringify(name.slice(0, 60))}${near === undefined ? '' : `; did you mean “${near}”?`}`,
    {
      cure: `Roles are ${known()}.`,
      exitCode: EXIT.usage,
    }
  );
}

/** @throws UserError when the tag cannot be part of a queue's name */
export function parseTag(value: string): string {
  if (TAG_PATTERN.test(value)) return value;
  throw new UserError(`${JSON.stringify(value.slice(0, 80))} is not a tag`, {
    cure: 'A tag names a kind of machine: letters a-z, digits, dot, dash and underscore, e.g. local, cpu, h100x8. It must be the one in the recipe’s `placement`.',
    exitCode: EXIT.usage,
  });
}

/** Data work is light and waits for disks; the others hold a GPU, or most of a laptop. */
const DATA_SLOTS = 4;
const GPU_SLOTS = 1;
/** On the laptop both arms run side by side, each with an engine of its own. */
const LOCAL_SLOTS = 2;
const WORKFLOW_QUEUE_SLOTS = 10;

function slots(role: WorkerRole, tag: string): number {
  if (role === 'workflow') return WORKFLOW_QUEUE_SLOTS;
  if (role === 'data') return DATA_SLOTS;
  return tag === LOCAL_TAG ? LOCAL_SLOTS : GPU_SLOTS;
}

/** @param concurrency - activities at once of every GPU role, instead of 1 (2 for the tag `local`) */
export function planQueues(roles: readonly WorkerRole[], tag: string, concurrency?: number): QueuePlan[] {
  return roles.map((role) => ({
    role,
    taskQueue: role === 'workflow' ? WORKFLOW_TASK_QUEUE : activityTaskQueue(role, tag),
    concurrency: role === 'workflow' || role === 'data' ? slots(role, tag) : (concurrency ?? slots(role, tag)),
  }));
}
