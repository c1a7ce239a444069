import { condition, sleep } from '@temporalio/workflow';
import type { Decision } from '../shared/contracts/progress.js';
import type { Classified } from './classify-failure.js';
import type { ProgressState } from './progress-state.js';

/**
 * The operator's halt: a failed stage waits for the update `decide`. Stages that run side by side may halt at the same time;
 * one decision answers all of them, because the cause is usually one.
 */
export class HaltDesk {
  private waiting = 0;
  private decision: Decision | undefined;
  private generation = 0;

  constructor(private readonly progress: ProgressState) {}

  /** @throws Error with the reason why a decision is refused; runs as the update's validator, so it must not change anything */
  validate(decision: Decision): void {
    if (decision === null || typeof decision !== 'object' || !['retry', 'abort'].includes(decision.action)) {
      throw new Error('a decision is {"action": "retry" | "abort", "note"?: string}');
    }
    if (decision.note !== undefined && (typeof decision.note !== 'string' || decision.note.length > 2000)) {
      throw new Error('the note of a decision is a text of at most 2000 characters');
    }
    if (this.waiting === 0) {
      throw new Error(`nothing waits for a decision: the pipeline is ${this.progress.value.state}`);
    }
  }

  decide(decision: Decision): string {
    const stage = this.progress.value.halt?.stage ?? 'the halted stage';
    this.decision = decision;
    this.generation += 1;
    return decision.action === 'retry' ? `${stage} is tried again` : `the pipeline ends with the failure of ${stage}`;
  }

  /** @returns the decision, or undefined when the deadline passed */
  async wait(stage: string, failure: Classified, hours: number): Promise<Decision | undefined> {
    const now = Date.now();
    const before = this.generation;
    this.waiting += 1;
    this.progress.setHalt({
      stage,
      type: failure.type,
      message: failure.message.slice(0, 1000),
      cure: failure.cure,
      since: new Date(now).toISOString(),
      deadline: new Date(now + hours * 3_600_000).toISOString(),
    });
    this.progress.setState('halted');
    try {
      const decided = await condition(() => this.generation > before, `${hours} hours`);
      // A workflow that ends in the very task which takes the update may lose the update's answer to a racing event.
      if (decided && this.decision?.action === 'abort')
        await sleep('1s', { summary: 'the answer to the decision goes out first' });
      return decided ? this.decision : undefined;
    } finally {
      this.waiting -= 1;
      if (this.waiting === 0) this.progress.setHalt(undefined);
    }
  }
}
