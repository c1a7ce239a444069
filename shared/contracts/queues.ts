/**
 * Task queues: workflows on one queue, activities on `<role>@<tag>`.
 *
 * A recipe's `placement` maps every role to a tag (a kind of machine); a worker is started with roles and one tag.
 */

/** Task queue of every workflow of this package. */
export const WORKFLOW_TASK_QUEUE = 'memagent';

/** Roles an activity worker can take. */
export const ROLES = ['data', 'rollout', 'train', 'convert', 'evaluate'] as const;

export type Role = (typeof ROLES)[number];

/** Role → tag, e.g. `{ train: 'h100x8' }`. */
export type Placement = Record<Role, string>;

/** Tag used by the laptop recipe and the development stack. */
export const LOCAL_TAG = 'local';

/** Letters a tag may have: it becomes part of a task queue's name and of file names. */
export const TAG_PATTERN = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** @returns the task queue of a role's activities on machines with the given tag, e.g. `train@h100x8`. */
export function activityTaskQueue(role: Role, tag: string): string {
  return `${role}@${tag}`;
}
