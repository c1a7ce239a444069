import { setTimeout as pause } from 'node:timers/promises';
import { join } from 'node:path';
import type { RayJobsClient } from '../jobs/client.js';
import { CouldNotLook, RayRefused } from '../jobs/errors.js';
import type { JobInfo } from '../jobs/job-info.js';
import { StepLog } from '../log/step-log.js';
import type { JobAttempt } from './lineage.js';
import { LogFollower } from './log-follower.js';
import { LogStore } from './log-store.js';
import type { TrainingPlan } from './plan.js';
import { joinSeries, readSeries, type SeriesStep } from './step-series.js';

/** Time between two looks at a job's status. Unit: milliseconds. */
const LOOK_EVERY_MS = 2_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 10_000;

/** A job that is followed: its log as it comes, its steps, and when it was last seen. */
export class JobSession {
  private lookedAt = -Infinity;
  private job: JobInfo | undefined;
  private wake: () => void = () => undefined;

  private constructor(
    readonly client: RayJobsClient,
    readonly attempt: JobAttempt,
    readonly store: LogStore,
    readonly reader: StepLog,
    /** Steps as the jobs before did them. */
    readonly earlier: readonly SeriesStep[]
  ) {}

  private log!: LogFollower;

  /** Takes up what is on disk of the job, and follows it from there. @throws PipelineError StorageFailed */
  static async open(client: RayJobsClient, plan: TrainingPlan, attempt: JobAttempt): Promise<JobSession> {
    const store = await LogStore.open(logFolder(plan.folder, attempt.number));
    const reader = new StepLog(plan.flavour, plan.trajectories);
    const earlier = await readSeries(seriesPath(plan.folder));
    const session = new JobSession(client, attempt, store, reader, earlier);
    session.log = new LogFollower(client, attempt.submissionId, store, reader, () => session.wake());
    await session.log.start();
    return session;
  }

  /** Steps of the whole run as they are known now. */
  series(): SeriesStep[] {
    return joinSeries(this.earlier, this.attempt, this.reader.records);
  }

  /** Both the job and its log are in sight: only then can a missing step be missed. */
  get sees(): boolean {
    return this.log.sees && performance.now() - this.lookedAt < 3 * LOOK_EVERY_MS;
  }

  /**
   * Looks at the job, unless that was done just now. A cluster that cannot be asked is asked again and again.
   *
   * @returns undefined when Ray says that there is no such job
   * @throws CouldNotLook, RayRefused when Ray could not be asked for as long as patience goes
   */
  async look(patienceMs: number, signal: AbortSignal): Promise<JobInfo | undefined> {
    this.log.check();
    if (performance.now() - this.lookedAt < LOOK_EVERY_MS) return this.job;
    let failed = false;
    this.job = await patiently(patienceMs, signal, async () => {
      try {
        return await this.client.status(this.attempt.submissionId, signal);
      } catch (error) {
        failed = true;
        throw error;
      }
    });
    this.lookedAt = performance.now();
    if (failed) this.log.reconnect();
    return this.job;
  }

  /** Returns when the log has more, or it is time to look again. */
  async changed(signal: AbortSignal): Promise<void> {
    const timer = new AbortController();
    const woken = new Promise<void>((resolve) => (this.wake = resolve));
    const time = pause(LOOK_EVERY_MS, undefined, { signal: AbortSignal.any([signal, timer.signal]) });
    await Promise.race([woken, time.catch(() => undefined)]);
    timer.abort();
  }

  /** The rest of the log. @returns false when it could not be had */
  drain(limitMs: number): Promise<boolean> {
    return this.log.drain(limitMs);
  }

  async close(): Promise<void> {
    await this.log.stop();
  }
}

export function logFolder(folder: string, attempt: number): string {
  return join(folder, `attempt-${String(attempt).padStart(3, '0')}`, 'log');
}

export function seriesPath(folder: string): string {
  return join(folder, 'steps.jsonl');
}

export function lineagePath(folder: string): string {
  return join(folder, 'lineage.json');
}

/** Repeats a look that could not be had, with pauses, for a time. @throws the last failure */
export async function patiently<T>(patienceMs: number, signal: AbortSignal, look: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (let wait = FIRST_RETRY_MS; ; wait = Math.min(LONGEST_RETRY_MS, wait * 2)) {
    try {
      return await look();
    } catch (error) {
      signal.throwIfAborted();
      // A head that is starting answers 500 for everything; what it refuses for good is a 4xx.
      const again = error instanceof CouldNotLook || (error instanceof RayRefused && error.status >= 500);
      if (!again || performance.now() + wait > deadline) throw error;
      await pause(wait, undefined, { signal });
    }
  }
}
