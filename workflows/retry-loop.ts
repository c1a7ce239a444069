import { sleep } from '@temporalio/workflow';
import { FAILURES, type FailureType } from '../shared/contracts/failures.js';
import type { AttemptRecord } from '../shared/contracts/progress.js';
import { classifyFailure, toWorkflowFailure, type Classified } from './classify-failure.js';

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;

/** What an activity call is about, for the attempts table. */
export interface CallMeta {
  stage: string;
  activity: string;
  step?: number;
}

/**
 * Repeats activities by the failure table. Every failed attempt is recorded and seen by `onAttempt`; the budget of a class
 * counts attempts *without progress* and is full again after `noteProgress()`. The server's own retry is off, because its
 * count cannot tell a deploy from a fault: a worker that shuts down spends nothing here.
 */
export class RetryLoop {
  private readonly spent = new Map<FailureType, number>();

  /**
   * @param onAttempt sees every failed attempt
   * @param useFallback switches to settings that need less memory; false when there are none left
   * @param beforeRepeat runs beside the wait for the next attempt, e.g. to tell somebody about the last
   */
  constructor(
    private readonly onAttempt: (record: AttemptRecord) => void,
    private readonly useFallback: (stage: string) => boolean = () => false,
    private readonly beforeRepeat: () => Promise<void> = () => Promise.resolve()
  ) {}

  noteProgress(): void {
    this.spent.clear();
  }

  /**
   * @throws ApplicationFailure of the failure table when the class is not retried or its budget is used up;
   * CancelledFailure unchanged
   */
  async run<T>(meta: CallMeta, call: () => Promise<T>): Promise<T> {
    for (let repeats = 0; ; repeats += 1) {
      const startedAt = Date.now();
      try {
        return await call();
      } catch (error) {
        const classified = classifyFailure(error);
        if (classified.kind === 'cancelled') throw error;
        this.record(meta, classified, startedAt);
        if (classified.kind === 'failure' && !this.mayRepeat(meta, classified.type))
          throw toWorkflowFailure(classified);
        const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(repeats, 10));
        const summary = `${meta.activity} again after ${classified.type}`;
        await Promise.all([sleep(delay, { summary }), this.beforeRepeat()]);
      }
    }
  }

  /** Spends the class's budget. The same settings would run out of memory again, so only others are tried. */
  private mayRepeat(meta: CallMeta, type: FailureType): boolean {
    if (type === 'OutOfMemory') return this.useFallback(meta.stage);
    const rule = FAILURES[type];
    const used = (this.spent.get(type) ?? 0) + 1;
    this.spent.set(type, used);
    return rule.retried && used < rule.attempts;
  }

  private record(meta: CallMeta, classified: Classified, startedAt: number): void {
    const { stage, activity, step } = meta;
    const { phase, host, message } = classified;
    this.onAttempt({
      stage,
      activity,
      ...(step === undefined ? {} : { step }),
      ...(phase === undefined ? {} : { phase }),
      ...(host === undefined ? {} : { host }),
      type: classified.kind === 'shutdown' ? 'WorkerShutdown' : classified.type,
      message: message.slice(0, 300),
      at: new Date().toISOString(),
      secondsLost: Math.round((Date.now() - startedAt) / 100) / 10,
    });
  }
}
