import { setMaxListeners } from 'node:events';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { WORKER_SHUTDOWN } from '../shared/contracts/activities.js';
import { toFailure } from './to-failure.js';

/** What an activity's body gets from the platform. */
export interface ActivityScope {
  /** Aborted when the workflow cancels, the worker shuts down, or the server gave the attempt up. */
  signal: AbortSignal;
  /** Sent with the next heartbeat; ≤ 4 KB. */
  report(details: unknown): void;
  attempt: number;
}

/** A beat at least three times within the time-out and every 5 s: cancellation arrives only with heartbeats. */
const LONGEST_BEAT_MS = 5_000;

/**
 * Wraps an activity's body: heartbeats on a timer (a sign that the worker lives, not that the work goes on), an abort signal,
 * and failures only through the failure table.
 */
export function activity<A, R>(body: (args: A, scope: ActivityScope) => Promise<R>): (args: A) => Promise<R> {
  return async (args: A): Promise<R> => {
    const context = Context.current();
    let details: unknown = { at: new Date().toISOString() };
    const timeout = context.info.heartbeatTimeoutMs ?? 30_000;
    // One signal stops hundreds of requests in flight; that many listeners are no leak.
    setMaxListeners(0, context.cancellationSignal);
    const ticker = setInterval(() => context.heartbeat(details), Math.min(LONGEST_BEAT_MS, timeout / 3));
    const scope: ActivityScope = {
      signal: context.cancellationSignal,
      report: (value) => {
        details = value;
      },
      attempt: context.info.attempt,
    };
    try {
      return await body(args, scope);
    } catch (error) {
      throw cancellationOf(context) ?? toFailure(error);
    } finally {
      clearInterval(ticker);
    }
  };
}

/**
 * A worker that shuts down is told apart from a cancelled workflow: the first is repeated without spending the budget.
 */
function cancellationOf(context: Context): Error | undefined {
  if (!context.cancellationSignal.aborted) return undefined;
  const reason: unknown = context.cancellationSignal.reason;
  const text = reason instanceof Error ? reason.message : String(reason);
  if (text.includes('WORKER_SHUTDOWN')) {
    return ApplicationFailure.create({
      type: WORKER_SHUTDOWN,
      message: 'the worker is shutting down; the activity is repeated elsewhere',
    });
  }
  return reason instanceof CancelledFailure ? reason : new CancelledFailure(text);
}
