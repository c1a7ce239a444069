import { PIPELINE_WORKFLOW_TYPE } from '../shared/contracts/progress.js';
import { WORKFLOW_TASK_QUEUE } from '../shared/contracts/queues.js';
import { recipeHash } from '../shared/contracts/recipe-parse.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { EXIT, UserError } from '../shared/contracts/user-error.js';
import type { TemporalClient } from '../workers/temporal-target.js';

/** `<recipe's name>-<first 8 digits of its hash>`: the same recipe comes back to the same run. */
export function defaultRunId(recipe: Recipe): string {
  return `${recipe.name}-${recipeHash(recipe).slice(0, 8)}`;
}

/** The id names a folder and is part of other workflows' ids. */
const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,126}$/;

/** @throws UserError */
export function checkRunId(id: string): string {
  if (RUN_ID.test(id)) return id;
  throw new UserError(`${JSON.stringify(id.slice(0, 150))} cannot be the id of a run`, {
    cure: 'It names the run’s folder: letters, digits, dot, dash and underscore, at most 127.',
    exitCode: EXIT.usage,
  });
}

export type Started = 'started' | 'running';

/**
 * Starts the pipeline under an id. One that is finished is started again (its finished stages are reused).
 *
 * @returns `running` when it runs already
 */
export async function startRun({ client }: TemporalClient, id: string, raw: unknown, recipe: Recipe): Promise<Started> {
  try {
    await client.workflow.start(PIPELINE_WORKFLOW_TYPE, {
      taskQueue: WORKFLOW_TASK_QUEUE,
      workflowId: checkRunId(id),
      args: [raw],
      staticSummary: `${recipe.name}: ${Object.keys(recipe.arms).join(', ')}, ${recipe.grpo.steps} steps`,
    });
    return 'started';
  } catch (error) {
    if ((error as Error).name === 'WorkflowExecutionAlreadyStartedError') return 'running';
    throw error;
  }
}
