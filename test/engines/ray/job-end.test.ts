import { describe, expect, it } from 'vitest';
import { distrustOf, endCause, unheardEnd } from '../../../engines/ray/follow/job-end.js';
import type { AttemptEnd } from '../../../engines/ray/follow/lineage.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';

const AT = Date.parse('2026-01-02T03:04:05Z');

function end(type: PipelineError['type'], isDistrusted = false): AttemptEnd {
  const error = new PipelineError(type, 'job j: why', { where: 'j', problems: ['a line of the log'] });
  return { status: 'FAILED', at: new Date(AT).toISOString(), message: 'exit 1', cause: endCause(error, isDistrusted) };
}

describe('the cause of a job’s end', () => {
  it('is said again when it was found after the first attempt that nobody heard of', () => {
    const again = unheardEnd(end('OutOfMemory'), AT - 1);
    expect(again).toMatchObject({ type: 'OutOfMemory', message: 'job j: why', details: { where: 'j' } });
    expect(again?.details.problems).toEqual(['a line of the log']);
  });

  it('is left alone when it was found before, when every attempt was heard, and when there is none', () => {
    expect(unheardEnd(end('OutOfMemory'), AT + 1)).toBeUndefined();
    expect(unheardEnd(end('OutOfMemory'), undefined)).toBeUndefined();
    expect(unheardEnd({ status: 'SUCCEEDED', at: new Date(AT).toISOString(), message: '' }, 0)).toBeUndefined();
    expect(unheardEnd(undefined, 0)).toBeUndefined();
  });

  it('makes finished work worthless where the work is at fault, and not where some of it was only not there yet', () => {
    expect(distrustOf(end('DataInvalid', true), 'train:relax')).toMatchObject({ type: 'DataInvalid' });
    expect(distrustOf(end('EngineUnavailable'), 'train:relax')).toBeUndefined();
    expect(distrustOf(undefined, 'train:relax')).toBeUndefined();
    const { cure } = distrustOf(end('RowCountMismatch', true), 'train:relax')?.details ?? {};
    expect(cure).toContain('--action retryFromStage --from-stage train:relax');
  });
});
