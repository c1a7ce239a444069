import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { WORKER_SHUTDOWN } from '../shared/contracts/activities.js';
import type { FailureDetails } from '../shared/contracts/failures.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { handBackBefore, wasHandedBack, type HandBackBefore } from '../engines/supervision/hand-back.js';
import { AttemptMeter } from './cost/attempt-meter.js';
import type { ProgressReport } from './progress-clock.js';
import { toFailure } from './to-failure.js';
import { Watchdog, type Guard } from './watchdog.js';

/** What an activity's body gets from the platform. */
export interface ActivityScope {
  /** Aborted when the workflow cancels, the worker shuts down, the server gave the attempt up, or the work stalled. */
  signal: AbortSignal;
  /** How far the work is: sent with the next heartbeat (≤ 4 KB), and what the watchdog measures progress by. */
  report(progress: ProgressReport): void;
  /** From now on the recipe's limits for work without progress apply. */
  watch(guard: Guard): void;
  attempt: number;
}

/** A beat at least three times within the time-out and every 2 s: cancellation arrives only with heartbeats. */
const LONGEST_BEAT_MS = 2_000;

/** Time for a body that was told that its work stalled to end by itself. Unit: milliseconds. */
const LEAVE_MS = 10_000;

/**
 * Wraps an activity's body: heartbeats on a timer (a sign that the worker lives, not that the work goes on), an abort signal, a
 * watchdog where the body asks for one, and failures only through the failure table.
 */
export function activity<A, R>(body: (args: A, scope: ActivityScope) => Promise<R>): (args: A) => Promise<R> {
  return (args: A): Promise<R> => new Frame(args).run((scope) => body(args, scope));
}

/** One attempt of an activity. */
class Frame {
  private readonly context = Context.current();
  private readonly stop = new AbortController();
  private readonly signal = AbortSignal.any([this.context.cancellationSignal, this.stop.signal]);
  private progress: ProgressReport | undefined;
  private watchdog: Watchdog | undefined;
  private readonly meter: AttemptMeter | undefined;
  /** The engines that the work needs, by folder: what was known of their going down in good order when the work began. */
  private readonly engines = new Map<string, Promise<HandBackBefore>>();

  constructor(args: unknown) {
    this.meter = AttemptMeter.begin(this.context.info.activityType, args);
  }

  async run<R>(body: (scope: ActivityScope) => Promise<R>): Promise<R> {
    // One signal stops hundreds of requests in flight; that many listeners are no leak.
    setMaxListeners(0, this.context.cancellationSignal, this.signal);
    const timeout = this.context.info.heartbeatTimeoutMs ?? 30_000;
    const ticker = setInterval(() => this.beat(), Math.min(LONGEST_BEAT_MS, timeout / 3));
    let finished = false;
    try {
      const result = await Promise.race([body(this.scope()), this.gaveUp()]);
      finished = true;
      return result;
    } catch (error) {
      throw this.cancellation() ?? (await this.deploy(error)) ?? toFailure(this.stall() ?? error, this.whereabouts());
    } finally {
      // Stopping what stalled may take minutes: without heartbeats the stall would look like a lost host.
      await this.watchdog?.end(finished);
      clearInterval(ticker);
      await this.meter?.end(finished);
    }
  }

  private scope(): ActivityScope {
    return {
      signal: this.signal,
      report: (progress) => {
        this.progress = progress;
        this.watchdog?.take(progress);
        this.meter?.report(progress);
      },
      watch: (guard) => {
        this.meter?.guard(guard);
        for (const folder of [guard.engineFolder, guard.serverFolder])
          if (folder !== undefined && !this.engines.has(folder)) this.engines.set(folder, handBackBefore(folder));
        void this.watchdog?.end(true);
        this.watchdog = new Watchdog(guard, this.context.info.startToCloseTimeoutMs, (error) => this.stop.abort(error));
      },
      attempt: this.context.info.attempt,
    };
  }

  private beat(): void {
    this.meter?.beat();
    this.context.heartbeat({ host: hostname(), pid: process.pid, ...this.progress });
  }

  private stall(): PipelineError | undefined {
    return this.stop.signal.aborted ? (this.stop.signal.reason as PipelineError) : undefined;
  }

  /** Rejects some time after a stall: a body that does not hear its signal must not keep the attempt alive. */
  private gaveUp(): Promise<never> {
    return new Promise((_resolve, reject) => {
      this.stop.signal.addEventListener(
        'abort',
        () => setTimeout(() => reject(this.stop.signal.reason as Error), LEAVE_MS).unref(),
        { once: true }
      );
    });
  }

  private whereabouts(): Pick<FailureDetails, 'phase' | 'host'> {
    const { progress } = this;
    return { host: hostname(), ...(progress === undefined ? {} : { phase: progress.phase }) };
  }

  /** A worker that shuts down is told apart from a cancelled workflow: the first is repeated without spending the budget. */
  private cancellation(): Error | undefined {
    const { cancellationSignal } = this.context;
    if (!cancellationSignal.aborted) return undefined;
    const reason: unknown = cancellationSignal.reason;
    const text = reason instanceof Error ? reason.message : String(reason);
    if (text.includes('WORKER_SHUTDOWN')) return this.shutdown('the worker is shutting down');
    return reason instanceof CancelledFailure ? reason : new CancelledFailure(text);
  }

  /** An engine that went down with another worker's deploy is no fault either. */
  private async deploy(error: unknown): Promise<Error | undefined> {
    if (!(error instanceof PipelineError) || error.type !== 'EngineUnavailable') return undefined;
    for (const [folder, before] of this.engines)
      if (await wasHandedBack(folder, await before)) return this.shutdown('the engine’s worker shut down');
    return undefined;
  }

  private shutdown(why: string): Error {
    return ApplicationFailure.create({
      type: WORKER_SHUTDOWN,
      message: `${why}; the activity is repeated elsewhere`,
      details: [this.whereabouts()],
    });
  }
}
