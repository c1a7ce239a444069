import { describe, expect, it } from 'vitest';
import { distrustOf, endCause, unheardEnd } from '../../../engines/ray/follow/job-end.js';
import type { JobAttempt } from '../../../engines/ray/follow/lineage.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';

const JOB: JobAttempt = { number: 1, submissionId: 'j', specHash: '', firstStep: 0, confirmed: true };
const AT = Date.parse('2026-01-02T03:04:05Z');

function ended(type: PipelineError['type'], isDistrusted = false): JobAttempt {
  const error = new PipelineError(type, 'job j: why', {
    where: 'j',
    jobEnd: 'j',
    problems: ['a line of the log'],
  });
  const end = { status: 'FAILED' as const, at: new Date(AT).toISOString(), message: 'exit 1' };
  return { ...JOB, end: { ...end, ...endCause(error, isDistrusted) } };
}

describe('the cause of a job’s end', () => {
  it('is said again when it was found after the first attempt that nobody heard of', () => {
    const again = unheardEnd(ended('OutOfMemory'), { unheardSince: AT - 1, heardEnd: 'another-job' });
    expect(again).toMatchObject({ type: 'OutOfMemory', message: 'job j: why', details: { where: 'j', jobEnd: 'j' } });
    expect(again?.details.problems).toEqual(['a line of the log']);
  });

  it('is left alone when it was found before, when it or every attempt was heard, and when there is none', () => {
    expect(unheardEnd(ended('OutOfMemory'), { unheardSince: AT + 1 })).toBeUndefined();
    expect(unheardEnd(ended('OutOfMemory'), {})).toBeUndefined();
    expect(unheardEnd(ended('OutOfMemory'), { unheardSince: 0, heardEnd: 'j' })).toBeUndefined();
    const end = { status: 'SUCCEEDED' as const, at: new Date(AT).toISOString(), message: '' };
    expect(unheardEnd({ ...JOB, end }, { unheardSince: 0 })).toBeUndefined();
    expect(unheardEnd(JOB, { unheardSince: 0 })).toBeUndefined();
  });

  it('makes finished work worthless where the work is at fault, and not where some of it was only not there yet', () => {
    expect(distrustOf(ended('DataInvalid', true), 'train:relax')).toMatchObject({ type: 'DataInvalid' });
    expect(distrustOf(ended('EngineUnavailable'), 'train:relax')).toBeUndefined();
    expect(distrustOf(JOB, 'train:relax')).toBeUndefined();
    const { cure } = distrustOf(ended('RowCountMismatch', true), 'train:relax')?.details ?? {};
    expect(cure).toContain('--action retryFromStage --from-stage train:relax');
  });
});
