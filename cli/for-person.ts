import type { FailureType } from '../shared/contracts/failures.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { UserError } from '../shared/contracts/user-error.js';

/**
 * An error of the failure table for somebody at a terminal: the table's own cures speak of recipes and running pipelines.
 *
 * @param cures what to do, for errors that do not say it themselves
 */
export function forPerson(error: unknown, cures: Partial<Record<FailureType, string>>): unknown {
  if (!(error instanceof PipelineError)) return error;
  const cure = error.details.cure ?? cures[error.type];
  return new UserError(error.message, {
    ...(error.details.problems === undefined ? {} : { problems: error.details.problems }),
    ...(cure === undefined ? {} : { cure }),
    cause: error,
  });
}
