import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { describe, expect, it } from 'vitest';
import { cutBytes, toFailure } from '../../activities/to-failure.js';
import { FAILURES, FAILURE_TYPES } from '../../shared/contracts/failures.js';
import { PipelineError } from '../../shared/contracts/pipeline-error.js';

function asApplicationFailure(error: unknown): ApplicationFailure {
  const failure = toFailure(error);
  expect(failure).toBeInstanceOf(ApplicationFailure);
  return failure as ApplicationFailure;
}

describe('the exit of activities', () => {
  it('keeps every type of the failure table and whether it is retried', () => {
    for (const type of FAILURE_TYPES) {
      const failure = asApplicationFailure(new PipelineError(type, 'what happened', { cure: 'do this' }));
      expect(failure).toMatchObject({ type, message: 'what happened', nonRetryable: !FAILURES[type].retried });
      expect(failure.details?.[0]).toEqual({ cure: 'do this' });
    }
  });

  it('cuts a 10 MB message to a size that arrives with its type, at a character border', () => {
    const failure = asApplicationFailure(
      new PipelineError('EngineUnavailable', '🙂ü'.repeat(1_700_000), {
        problems: Array.from({ length: 500 }, () => 'x'.repeat(9000)),
      })
    );
    expect(failure.type).toBe('EngineUnavailable');
    expect(Buffer.byteLength(failure.message)).toBeLessThanOrEqual(4096);
    expect(failure.message).not.toContain('\uFFFD');
    expect(Buffer.byteLength(JSON.stringify(failure.details))).toBeLessThan(8192);
    expect(cutBytes('short', 100)).toBe('short');
  });

  it('calls a full disk StorageFailed wherever the error came from', () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    expect(asApplicationFailure(full)).toMatchObject({ type: 'StorageFailed', nonRetryable: false });
  });

  it('never wraps what is already a failure or a cancellation', () => {
    const failure = ApplicationFailure.nonRetryable('x', 'OutOfMemory');
    expect(toFailure(failure)).toBe(failure);
    const cancelled = new CancelledFailure('CANCELLED');
    expect(toFailure(cancelled)).toBe(cancelled);
  });

  it('names an unexpected error by its class', () => {
    expect(asApplicationFailure(new TypeError('x is not a function')).type).toBe('TypeError');
    expect(asApplicationFailure('just a text').message).toBe('just a text');
  });
});
