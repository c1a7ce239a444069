import { type FailureDetails, type FailureType } from './failures.js';

/**
 * An error of the failure table, thrown by everything below the activities.
 *
 * Activities turn it into a Temporal `ApplicationFailure` of the same type; the command line prints it on one screen.
 */
export class PipelineError extends Error {
  override readonly name = 'PipelineError';

  constructor(
    readonly type: FailureType,
    message: string,
    readonly details: FailureDetails = {},
    options?: { cause?: unknown }
  ) {
    super(message, options);
  }
}
