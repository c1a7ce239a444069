import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { FAILURES, MAX_FAILURE_MESSAGE_BYTES, type FailureDetails } from '../shared/contracts/failures.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';

const CUT_MARK = ' … (cut)';

/** Cuts a text to a number of UTF-8 bytes: long failure messages lose their type, or never arrive. */
export function cutBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.byteLength <= limit) return text;
  // A cut inside a character leaves a replacement character at the end; drop it.
  return (
    bytes
      .subarray(0, limit - Buffer.byteLength(CUT_MARK))
      .toString('utf8')
      .replace(/\uFFFD+$/u, '') + CUT_MARK
  );
}

function cutDetails(details: FailureDetails): FailureDetails {
  const cut: FailureDetails = {};
  if (details.problems !== undefined)
    cut.problems = details.problems.slice(0, 30).map((problem) => cutBytes(problem, 200));
  if (details.where !== undefined) cut.where = cutBytes(details.where, 500);
  if (details.cure !== undefined) cut.cure = cutBytes(details.cure, 500);
  if (details.phase !== undefined) cut.phase = cutBytes(details.phase, 40);
  if (details.host !== undefined) cut.host = cutBytes(details.host, 80);
  if (details.jobEnd !== undefined) cut.jobEnd = cutBytes(details.jobEnd, 500);
  return cut;
}

type Whereabouts = Pick<FailureDetails, 'phase' | 'host'>;

function fromPipelineError(error: PipelineError, where: Whereabouts): ApplicationFailure {
  return ApplicationFailure.create({
    type: error.type,
    message: cutBytes(error.message, MAX_FAILURE_MESSAGE_BYTES / 2),
    nonRetryable: !FAILURES[error.type].retried,
    details: [cutDetails({ ...where, ...error.details })],
  });
}

/** Operating system errors that mean "could not write", wherever they were thrown. */
const STORAGE_CODES = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE']);

/**
 * The only exit of activities: every error becomes an ApplicationFailure of the failure table. Never wrap its result again:
 * the server looks only at the outermost failure.
 *
 * @param where what the activity was doing, and on which host
 */
export function toFailure(error: unknown, where: Whereabouts = {}): ApplicationFailure | CancelledFailure {
  if (error instanceof CancelledFailure || error instanceof ApplicationFailure) return error;
  if (error instanceof PipelineError) return fromPipelineError(error, where);
  const code = (error as NodeJS.ErrnoException)?.code;
  const text = error instanceof Error ? error.message : String(error);
  if (code !== undefined && STORAGE_CODES.has(code))
    return fromPipelineError(new PipelineError('StorageFailed', text), where);
  const name = error instanceof Error ? error.name : 'Error';
  return ApplicationFailure.create({
    type: name,
    message: cutBytes(text, MAX_FAILURE_MESSAGE_BYTES / 2),
    details: [cutDetails(where)],
  });
}
