import type { FailureType } from '../../../shared/contracts/failures.js';
import type { JobStep, StepLogReader } from '../types.js';
import type { JobAttempt } from './lineage.js';

/** Why a job that runs must not go on, in the terms of the failure table. */
export interface JobProblem {
  type: FailureType;
  message: string;
  /** What to do, where the failure table speaks of something else. */
  cure?: string;
}

const REWARDS_UNKNOWN =
  'Correct what prints the reward (the arm’s reward function, its logging); then start a new run.';
const NOT_LOADED =
  'Look in the job’s log at what it loaded; `memagent decide RUN --action retry` goes on from the newest complete checkpoint.';
const LINE_LOST =
  '`memagent decide RUN --action retry` goes on from the newest checkpoint before that step; where it happens again, look in the job’s log.';

/** Rewards come in order, one line a step: after those of this many later steps a missing one will not come. Steps. */
const LATER_REWARDS = 3;

/**
 * The first thing in a job's log that no further step can mend.
 *
 * @param over the job has ended: the counts of its last step are complete too, and how it ended says more than a lost line
 * @param earlier steps as the jobs before it did them
 */
export function jobProblem(
  attempt: JobAttempt,
  reader: StepLogReader,
  over: boolean,
  earlier: readonly JobStep[]
): JobProblem | undefined {
  const [problem] = reader.problems;
  if (problem !== undefined) return problem.type === 'DataInvalid' ? { ...problem, cure: REWARDS_UNKNOWN } : problem;
  const steps = [...reader.records.values()]
    .filter((record) => record.step >= attempt.firstStep || !isPrintedAgain(record, earlier))
    .sort((a, b) => a.step - b.step);
  return wrongBeginning(attempt, steps) ?? lostRows(steps, over) ?? (over ? undefined : lostReward(steps));
}

/**
 * Whether lines of an earlier job came again, as Ray may send them, instead of the step being done again: then every number is the
 * same, the measured times too.
 */
function isPrintedAgain({ step, reward, metrics }: JobStep, earlier: readonly JobStep[]): boolean {
  const known = earlier.find((record) => record.step === step);
  if (known === undefined || (reward !== undefined && reward !== known.reward)) return false;
  return Object.entries(metrics).every(([key, value]) => known.metrics[key] === value);
}

/** A job that repeats steps, or passes over some, did not load the checkpoint it was to go on from. */
function wrongBeginning({ firstStep }: JobAttempt, steps: readonly JobStep[]): JobProblem | undefined {
  const first = steps.find(({ reward }) => reward !== undefined)?.step;
  if (first === undefined || first === firstStep) return undefined;
  const from = firstStep === 0 ? 'at the beginning' : `after the checkpoint of step ${firstStep - 1}`;
  return {
    type: 'CheckpointInvalid',
    message: `the job was to begin ${from}, at step ${firstStep}, but its first step is ${first}`,
    cure: NOT_LOADED,
  };
}

/**
 * A run in which a step has no reward can never be finished, whatever the job does afterwards; the sooner it begins again before
 * that step, the less is done for nothing.
 */
function lostReward(steps: readonly JobStep[]): JobProblem | undefined {
  const rewarded = steps.filter(({ reward }) => reward !== undefined).map(({ step }) => step);
  const at = rewarded.findIndex((step, index) => index > 0 && step !== (rewarded[index - 1] ?? step) + 1);
  if (at < 0 || rewarded.length - at < LATER_REWARDS) return undefined;
  const lost = (rewarded[at - 1] ?? 0) + 1;
  return {
    type: 'CheckpointInvalid',
    message: `the reward of step ${lost} is not in the log, which has those of steps ${rewarded.slice(at, at + LATER_REWARDS).join(', ')}`,
    cure: LINE_LOST,
  };
}

/** Counts of a step are complete once a later step was seen. A count that is not printed proves nothing either way. */
function lostRows(steps: readonly JobStep[], over: boolean): JobProblem | undefined {
  const latest = steps.at(-1)?.step ?? -1;
  const wrong = steps.filter(({ step }) => over || step < latest).find((step) => ledgerText(step) !== undefined);
  if (wrong === undefined) return undefined;
  return { type: 'RowCountMismatch', message: `step ${wrong.step}: turn counts differ: ${ledgerText(wrong) ?? ''}` };
}

/** The counts of a step in words, if those that are known contradict each other. */
export function ledgerText({ counts }: JobStep): string | undefined {
  const { generated, transferred, consumed, trimmed = 0 } = counts;
  const fits =
    (generated === undefined || transferred === undefined || generated === transferred + trimmed) &&
    (transferred === undefined || consumed === undefined || transferred === consumed) &&
    (transferred !== undefined ||
      generated === undefined ||
      consumed === undefined ||
      generated === consumed + trimmed);
  if (fits) return undefined;
  const text = (count: number | undefined): string => (count === undefined ? 'not printed' : String(count));
  return `generated ${text(generated)}, transferred ${text(transferred)} (+ ${trimmed} trimmed), consumed ${text(consumed)}`;
}
