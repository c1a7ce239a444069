import type { HeardEnds } from '../../../shared/contracts/activities.js';
import { FAILURES } from '../../../shared/contracts/failures.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { newestCheckpoint } from '../checkpoints.js';
import type { JobProblem } from './job-problem.js';
import type { AttemptEnd, EndCause, JobAttempt } from './lineage.js';
import type { TrainingPlan } from './plan.js';
import type { SeriesStep } from './step-series.js';

/** What is not there of a finished run, one sentence each. */
export async function missingWork(
  { totalSteps, checkpoints }: Pick<TrainingPlan, 'totalSteps' | 'checkpoints'>,
  series: readonly SeriesStep[]
): Promise<string[]> {
  const rewards = new Map(series.map(({ step, reward }) => [step, reward]));
  const steps = Array.from({ length: totalSteps }, (_, step) => step).filter((step) => rewards.get(step) === undefined);
  const { newest, skipped } = await newestCheckpoint(checkpoints);
  const [torn] = skipped;
  return [
    ...steps.map((step) => `the reward of step ${step} is not in the log`),
    ...(newest?.step === totalSteps - 1
      ? []
      : [
          `there is no complete checkpoint of step ${totalSteps - 1} in ${checkpoints}` +
            (torn === undefined ? '' : ` (${torn.path}: ${torn.reason})`),
        ]),
  ];
}

/** The error of a job that failed, or that must not go on. */
export function jobFailure(problem: JobProblem, attempt: JobAttempt, evidence: readonly string[] = []): PipelineError {
  return new PipelineError(problem.type, `job ${attempt.submissionId}: ${problem.message}`, {
    where: attempt.submissionId,
    jobEnd: attempt.submissionId,
    ...(problem.cure === undefined ? {} : { cure: problem.cure }),
    ...(evidence.length === 0 ? {} : { problems: [...evidence] }),
  });
}

/**
 * The cause of a job's end as the book of jobs keeps it; none for one that ended well.
 *
 * @param isDistrusted the work itself is at fault, and not only missing
 */
export function endCause(error: PipelineError | undefined, isDistrusted: boolean): Pick<AttemptEnd, 'cause'> {
  if (error === undefined) return {};
  const { type, message, details } = error;
  return { cause: { type, message, details, ...(isDistrusted ? { isDistrusted } : {}) } };
}

/** The error that the book keeps. */
export function causeError({ type, message, details }: EndCause): PipelineError {
  return new PipelineError(type, message, details);
}

/**
 * The error of a job that ended while nobody was heard of: its follower found out, and was given up before it could say so.
 *
 * @param heard what the workflow knows: since when nobody was heard of (Unix milliseconds, by the server's clock: a host whose clock
 * is behind it by more than the job still ran hides the cause), and the last job whose end was told
 */
export function unheardEnd(
  { submissionId, end }: JobAttempt,
  { unheardSince, heardEnd }: HeardEnds
): PipelineError | undefined {
  if (end?.cause === undefined || unheardSince === undefined || submissionId === heardEnd) return undefined;
  return Date.parse(end.at) < unheardSince ? undefined : causeError(end.cause);
}

/**
 * Why the work of a job is not taken although all of it is there.
 *
 * @param stage what is to be made again: another job would find nothing left to do
 */
export function distrustOf({ end }: JobAttempt, stage: string): PipelineError | undefined {
  if (end?.cause?.isDistrusted !== true) return undefined;
  const { cause } = end;
  const again = `\`memagent decide RUN --action retryFromStage --from-stage ${stage}\` sets its steps aside.`;
  // A run that fails at once waits for no decision.
  const isHalt = FAILURES[cause.type].afterwards === 'halt';
  return causeError(isHalt ? { ...cause, details: { ...cause.details, cure: again } } : cause);
}

/** The error of a job that says it succeeded, with what is missing of its work. */
export function incompleteRun(missing: readonly string[], attempt: JobAttempt): PipelineError {
  return new PipelineError(
    'CheckpointInvalid',
    `job ${attempt.submissionId} ended well by its own account, but ${missing.slice(0, 3).join('; ')}` +
      (missing.length > 3 ? ` and ${missing.length - 3} more` : ''),
    {
      problems: missing.slice(0, 30),
      where: attempt.submissionId,
      jobEnd: attempt.submissionId,
      cure: 'Look at the job’s log in the run’s folder; decide retry to go on from the newest complete checkpoint.',
    }
  );
}
