import { describe, expect, it } from 'vitest';
import { jobProblem } from '../../../engines/ray/follow/job-problem.js';
import type { JobAttempt } from '../../../engines/ray/follow/lineage.js';
import type { JobStep, StepLogReader } from '../../../engines/ray/types.js';

function attempt(firstStep: number): JobAttempt {
  return { number: 1, submissionId: 'job-1', specHash: '', firstStep, confirmed: true };
}

/** A log with these steps; a negative number is a step without its reward. */
function log(...steps: number[]): StepLogReader {
  const records = steps.map((step): JobStep => {
    const known = step < 0 || Object.is(step, -0) ? {} : { reward: 0.5 };
    return { step: Math.abs(step), ...known, metrics: {}, counts: {} };
  });
  return {
    push: () => undefined,
    end: () => undefined,
    records: new Map(records.map((record) => [record.step, record])),
    problems: [],
  };
}

describe('a step without its reward', () => {
  it.each([
    ['the next steps have theirs', [0, 1, -2, 3, 4, 5], 'step 2 is not in the log, which has those of steps 3, 4, 5'],
    ['its line is missing altogether', [0, 1, 3, 4, 5], 'step 2 is not in the log'],
  ])('will not get it when %s: the job is stopped', (_, steps, says) => {
    expect(jobProblem(attempt(0), log(...steps), false, [])).toMatchObject({
      type: 'CheckpointInvalid',
      message: expect.stringContaining(says) as string,
    });
  });

  it.each([
    ['it is the latest', [0, 1, -2], false],
    ['only two later ones have theirs', [0, 1, -2, 3, 4], false],
    ['the job is over: how it ended says more', [0, 1, -2, 3, 4, 5, 6], true],
  ])('is no problem yet when %s', (_, steps, over) => {
    expect(jobProblem(attempt(0), log(...steps), over, [])).toBeUndefined();
  });
});

describe('a job that goes on from a checkpoint', () => {
  it('must begin at the step after it', () => {
    expect(jobProblem(attempt(2), log(2, 3), false, [])).toBeUndefined();
    expect(jobProblem(attempt(2), log(3, 4), false, [])).toMatchObject({
      type: 'CheckpointInvalid',
      message: expect.stringContaining('after the checkpoint of step 1, at step 2, but its first step is 3') as string,
    });
  });

  it.each([
    ['are the earlier job’s own lines that came again: they are passed over', 0.5, 12.5, undefined],
    ['have another reward: they were done again', 0.25, 12.5, 'its first step is 0'],
    ['took another time: they were done again', 0.5, 12.75, 'its first step is 0'],
  ])('prints steps before it that %s', (_, reward, seconds, says) => {
    const steps = (rewards: number, time: number): JobStep[] =>
      [0, 1].map((step) => ({ step, reward: rewards, metrics: { 'perf/step_time': time }, counts: {} }));
    const reader = log(2, 3);
    const records = new Map([
      ...steps(reward, seconds).map((record) => [record.step, record] as const),
      ...reader.records,
    ]);
    const problem = jobProblem(attempt(2), { ...reader, records }, false, steps(0.5, 12.5));
    if (says === undefined) expect(problem).toBeUndefined();
    else expect(problem?.message).toContain(says);
  });
});
