import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { newestCheckpoint } from '../checkpoints.js';
import type { JobProblem } from './job-problem.js';
import type { JobAttempt } from './lineage.js';
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
    ...(problem.cure === undefined ? {} : { cure: problem.cure }),
    ...(evidence.length === 0 ? {} : { problems: [...evidence] }),
  });
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
      cure: 'Look at the job’s log in the run’s folder; decide retry to go on from the newest complete checkpoint.',
    }
  );
}
