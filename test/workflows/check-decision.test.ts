import { describe, expect, it } from 'vitest';
import type { Decision, Progress } from '../../shared/contracts/progress.js';
import { dependsOn, stageNames } from '../../shared/contracts/stages.js';
import { checkDecision } from '../../workflows/check-decision.js';
import type { Waiter } from '../../workflows/decision-desk.js';

const progress = {
  state: 'running',
  stages: stageNames(['relax', 'vime']).map((name) => ({ name })),
} as unknown as Progress;

function waiting(kind: Waiter['kind'], stage: string): Waiter[] {
  return [{ kind, stage, since: '2026-01-01T00:00:00Z' }];
}

function refusal(decision: unknown, waiters: Waiter[]): string | undefined {
  try {
    checkDecision(decision as Decision, waiters, progress);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('a decision', () => {
  const halted = waiting('halt', 'train:relax');
  const paused = waiting('pause', 'smoke:relax');

  it.each([
    ['retry of a halted stage', { action: 'retry', note: 'disk freed' }, halted],
    ['abort of a halted stage', { action: 'abort' }, halted],
    ['abort of a pause', { action: 'abort' }, paused],
    ['continue after a pause', { action: 'continue' }, paused],
    ['the waiting stage anew', { action: 'retryFromStage', stage: 'train:relax' }, halted],
    ['an earlier stage anew', { action: 'retryFromStage', stage: 'data' }, halted],
    ['a paused stage anew', { action: 'retryFromStage', stage: 'smoke:relax' }, paused],
  ])('is taken: %s', (_, decision, waiters) => {
    expect(refusal(decision, waiters)).toBeUndefined();
  });

  it.each([
    ['nothing at all', null, halted, /a decision is \{"action"/],
    ['an unknown action', { action: 'dance' }, halted, /a decision is \{"action"/],
    ['a note that is no text', { action: 'retry', note: 7 }, halted, /the note of a decision/],
    ['a note that is too long', { action: 'retry', note: 'x'.repeat(2001) }, halted, /at most 2000/],
    ['when nothing waits', { action: 'retry' }, [], /nothing waits for a decision: the pipeline is running/],
    ['retry of what has not failed', { action: 'retry' }, paused, /paused after smoke:relax; decide continue/],
    ['continue over a failure', { action: 'continue' }, halted, /train:relax has failed and cannot be passed over/],
    ['no stage to begin at', { action: 'retryFromStage' }, halted, /needs the name of the stage/],
    ['a stage where none belongs', { action: 'retry', stage: 'data' }, halted, /only with retryFromStage/],
    ['a misspelt stage', { action: 'retryFromStage', stage: 'train:relx' }, halted, /did you mean train:relax\?/],
    [
      'a stage that is not known',
      { action: 'retryFromStage', stage: 'x'.repeat(500) },
      halted,
      /stages are resolve, data/,
    ],
    ['the recipe', { action: 'retryFromStage', stage: 'resolve' }, halted, /start another run/],
    ['a later stage', { action: 'retryFromStage', stage: 'judge' }, halted, /judge does not come before train:relax/],
    ['another arm', { action: 'retryFromStage', stage: 'smoke:vime' }, halted, /does not come before train:relax/],
  ])('is refused, with the reason: %s', (_, decision, waiters, reason) => {
    expect(refusal(decision, waiters)).toMatch(reason);
  });
});

describe('stages', () => {
  it('depend on what comes before them in their own arm and in the common part of the chain', () => {
    const after = (first: string): string[] => stageNames(['a', 'b']).filter((stage) => dependsOn(stage, first));
    expect(after('data')).toEqual(stageNames(['a', 'b']).slice(1));
    expect(after('train:a')).toEqual(['train:a', 'convert:a', 'evaluate', 'judge', 'report']);
    expect(after('judge')).toEqual(['judge', 'report']);
  });
});
