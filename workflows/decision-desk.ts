import { condition, sleep } from '@temporalio/workflow';
import type { Decision } from '../shared/contracts/progress.js';
import { dependsOn } from '../shared/contracts/stages.js';
import type { Classified } from './classify-failure.js';
import { checkDecision } from './check-decision.js';
import type { ProgressState } from './progress-state.js';

/** A stage that stands still: failed for good, or done and to be looked at. */
export interface Waiter {
  stage: string;
  kind: 'halt' | 'pause';
  since: string;
  failure?: Classified;
  deadline?: string;
  answer?: Decision;
}

/**
 * The operator's desk: stages that halted or paused wait here for the update `decide`. Stages that run side by side may wait at
 * the same time; one decision answers all it fits, because the cause is usually one.
 */
export class DecisionDesk {
  private readonly waiters: Waiter[] = [];

  constructor(private readonly progress: ProgressState) {}

  /** @throws Error with the reason why a decision is refused; runs as the update's validator, so it must not change anything */
  validate(decision: Decision): void {
    checkDecision(decision, this.waiters, this.progress.value);
  }

  /** Gives the decision to every stage it answers. @returns a sentence for the operator */
  decide(decision: Decision): string {
    const answered = this.waiters.filter((waiter) => answers(decision, waiter));
    for (const waiter of answered) waiter.answer = decision;
    const stages = answered.map(({ stage }) => stage).join(' and ');
    switch (decision.action) {
      case 'retry':
        return `${stages} is tried again`;
      case 'continue':
        return `the pipeline goes on after ${stages}`;
      case 'retryFromStage':
        return `${decision.stage ?? ''} is made anew, and what comes after it runs again`;
      case 'abort':
        return answered.some(({ kind }) => kind === 'halt')
          ? `the pipeline ends with the failure of ${stages}`
          : `the pipeline ends after ${stages}`;
    }
  }

  /**
   * A failed stage waits for a decision.
   *
   * @returns undefined when the deadline passed
   */
  async waitHalted(stage: string, failure: Classified, hours: number): Promise<Decision | undefined> {
    const now = Date.now();
    const deadline = new Date(now + hours * 3_600_000).toISOString();
    return await this.wait({ stage, kind: 'halt', failure, since: new Date(now).toISOString(), deadline }, hours);
  }

  /** A finished stage waits for a decision, as long as it takes: nothing is kept busy by it. */
  async waitPaused(stage: string): Promise<Decision | undefined> {
    return await this.wait({ stage, kind: 'pause', since: new Date().toISOString() }, undefined);
  }

  private async wait(waiter: Waiter, hours: number | undefined): Promise<Decision | undefined> {
    this.waiters.push(waiter);
    this.show();
    const isAnswered = (): boolean => waiter.answer !== undefined;
    try {
      if (hours === undefined) await condition(isAnswered);
      else await condition(isAnswered, `${hours} hours`);
      // A workflow that ends in the very task which takes the update may lose the update's answer to a racing event.
      if (waiter.answer?.action === 'abort')
        await sleep('1s', { summary: 'the answer to the decision goes out first' });
      return waiter.answer;
    } finally {
      this.waiters.splice(this.waiters.indexOf(waiter), 1);
      this.show();
    }
  }

  /** Progress shows the longest waiting halt, and every pause. */
  private show(): void {
    const halted = this.waiters.find(({ kind }) => kind === 'halt');
    const paused = this.waiters.filter(({ kind }) => kind === 'pause');
    this.progress.setHalt(halted === undefined ? undefined : haltState(halted));
    this.progress.setPause(
      paused[0] === undefined ? undefined : { stages: paused.map(({ stage }) => stage), since: paused[0].since }
    );
    this.progress.setState(halted !== undefined ? 'halted' : paused.length > 0 ? 'paused' : 'running');
  }
}

function answers({ action, stage }: Decision, waiter: Waiter): boolean {
  switch (action) {
    case 'retry':
      return waiter.kind === 'halt';
    case 'continue':
      return waiter.kind === 'pause';
    case 'retryFromStage':
      return stage !== undefined && dependsOn(waiter.stage, stage);
    case 'abort':
      return true;
  }
}

function haltState(waiter: Waiter): NonNullable<ProgressState['value']['halt']> {
  return {
    stage: waiter.stage,
    type: waiter.failure?.type ?? 'unknown',
    message: waiter.failure?.message.slice(0, 1000) ?? '',
    cure: waiter.failure?.cure ?? '',
    since: waiter.since,
    ...(waiter.deadline === undefined ? {} : { deadline: waiter.deadline }),
  };
}
