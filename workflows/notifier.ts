import { ActivityFailure, CancellationScope, isCancellation } from '@temporalio/workflow';
import type { NotifyArgs, RunNotice } from '../shared/contracts/activities.js';
import { notifier } from './activity-proxies.js';

/** Tells the recipe's webhook about halts, pauses and the end. A webhook that does not answer is noted and changes nothing. */
export class Notifier {
  settings: NotifyArgs['settings'] | undefined;
  private readonly underWay = new Set<Promise<void>>();

  constructor(private readonly warn: (text: string) => void) {}

  /** Begins to send, also in a cancelled workflow. */
  send(notice: RunNotice): void {
    const { settings } = this;
    if (settings === undefined) return;
    const sending = CancellationScope.nonCancellable(() => this.post({ settings, notice }));
    this.underWay.add(sending);
    void sending.finally(() => this.underWay.delete(sending));
  }

  /** Waits for what is under way; the activity's own limits bound it. */
  async settled(): Promise<void> {
    await CancellationScope.nonCancellable(async () => {
      await Promise.all(this.underWay);
    });
  }

  private async post(args: NotifyArgs): Promise<void> {
    try {
      const summary = `webhook: ${args.notice.event}`;
      await notifier.notify.executeWithOptions(
        args.notice.event === 'cancelled' ? { summary, scheduleToCloseTimeout: '5s' } : { summary },
        [args]
      );
    } catch (error) {
      if (isCancellation(error)) return;
      this.warn(`the webhook did not take "${args.notice.event}": ${reasonOf(error).slice(0, 200)}`);
    }
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof ActivityFailure ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message : String(cause);
}
