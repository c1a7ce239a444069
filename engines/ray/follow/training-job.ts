import type { TrainingJobResult } from '../../../shared/contracts/activities.js';
import type { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { RayJobsClient } from '../jobs/client.js';
import { isOver, type JobInfo } from '../jobs/job-info.js';
import { classifyJobFailure } from '../log/classify.js';
import type { JobEnd } from '../types.js';
import { Attempts, lostJob } from './attempts.js';
import { CheckpointWatch } from './checkpoint-watch.js';
import { leasePath, releaseLease } from './cluster-lease.js';
import { distrustOf, endCause, incompleteRun, jobFailure, missingWork, unheardEnd } from './job-end.js';
import { jobProblem } from './job-problem.js';
import { readLineage, type JobAttempt } from './lineage.js';
import type { FollowHooks, TrainingPlan } from './plan.js';
import { JobSession, lineagePath, patiently, seriesPath } from './session.js';
import { jobReport, NOTHING_DONE, sliceResult, type SliceBounds } from './slice-result.js';
import { readSeries, rewardedSteps, writeSeries, type SeriesStep } from './step-series.js';

/** How long the rest of the log of a job that is over may take. Unit: milliseconds. */
const DRAIN_MS = 60_000;
/** End of a log that a failure is read from. Unit: bytes. */
const LOG_TAIL_BYTES = 256 * 1024;

/**
 * A training run as one Ray job after another, followed in slices. A job belongs to the run and not to who follows it: it is
 * adopted when its follower died, and goes on when nobody looks. It is stopped only by {@link TrainingJob.stop}, and when it does
 * what it must not.
 */
export class TrainingJob {
  private session: JobSession | undefined;
  private readonly checkpoint: CheckpointWatch;

  constructor(
    /** May change between slices, but for its places. */
    public plan: TrainingPlan,
    private readonly client: RayJobsClient
  ) {
    this.checkpoint = new CheckpointWatch(plan.checkpoints);
  }

  /**
   * Follows the run until it got on as far as asked, or its job is over; begins a job when there is none.
   *
   * @throws PipelineError of the failure table when the job failed, stood wrong, or is lost (a repetition goes on from its newest
   * complete checkpoint); EngineUnavailable when the cluster was out of sight too long (the job is left alone)
   */
  async follow(bounds: SliceBounds, hooks: FollowHooks): Promise<TrainingJobResult> {
    const { plan } = this;
    await hooks.fence();
    const attempts = new Attempts(plan, await readLineage(lineagePath(plan.folder)), this.client, hooks);
    await attempts.settle();
    if (attempts.open === undefined && attempts.last !== undefined) {
      const finished = await this.finished(attempts.last, bounds);
      if (finished !== undefined) return finished;
    }
    const waitingFor = await attempts.claim();
    if (waitingFor !== undefined) return { ...NOTHING_DONE, waitingFor };
    const attempt = await attempts.current();
    const session = await this.sessionOf(attempt);
    try {
      return await this.slice(session, attempts, bounds, hooks);
    } finally {
      await hooks.fence().then(
        () => writeSeries(seriesPath(plan.folder), session.series()),
        () => undefined
      );
      if (attempt.end !== undefined) await this.close();
    }
  }

  /**
   * The result of a run whose last job is over and did all its work; undefined when another job is to go on.
   *
   * @throws PipelineError what is wrong with the work; why the job ended, when nobody was told
   */
  private async finished(last: JobAttempt, bounds: SliceBounds): Promise<TrainingJobResult | undefined> {
    const { plan } = this;
    const series = await readSeries(seriesPath(plan.folder));
    if ((await missingWork(plan, series)).length > 0) {
      const unheard = unheardEnd(last, bounds);
      if (unheard !== undefined) throw unheard;
      return undefined;
    }
    const distrust = distrustOf(last, `${plan.phase}:${plan.arm}`);
    if (distrust !== undefined) throw distrust;
    return await this.result(last, series, bounds, true);
  }

  /** Both the job and its log are in sight now. */
  get sees(): boolean {
    return this.session?.sees === true;
  }

  /** What a person would look at first. */
  async evidence(): Promise<Record<string, unknown>> {
    const { session } = this;
    if (session === undefined) return {};
    const [job, tail] = await Promise.all([
      this.client.status(session.attempt.submissionId).catch((error: unknown) => ({ notSeen: String(error) })),
      session.store.last(8 * 1024),
    ]);
    return { job: job ?? null, jobLog: tail.toString('utf8').split('\n').slice(-50) };
  }

  /** Stops the job that does not get on; the next slice begins another one. */
  async giveUp(message: string, hooks: FollowHooks): Promise<void> {
    const lineage = await readLineage(lineagePath(this.plan.folder));
    const attempts = new Attempts(this.plan, lineage, this.client, hooks);
    const { open } = attempts;
    // What was found wrong with it before is the better reason.
    if (open !== undefined) await attempts.condemn(open, open.condemned ?? { type: 'Stalled', message });
    await this.close();
  }

  /**
   * Ends the run's hold on the cluster: stops its job, if one is under way, and gives the lease back.
   *
   * @param onlyIfOver leaves a job that runs alone, and the lease with it
   * @throws CouldNotLook, RayRefused, StorageFailed
   */
  async stop(onlyIfOver: boolean, hooks: FollowHooks): Promise<void> {
    const { plan } = this;
    const attempts = new Attempts(plan, await readLineage(lineagePath(plan.folder)), this.client, hooks);
    const { open } = attempts;
    if (open !== undefined) {
      const job = await this.client.status(open.submissionId, hooks.signal);
      const runs = job !== undefined && !isOver(job.status);
      if (runs && onlyIfOver) return;
      if (runs || !onlyIfOver) await attempts.stopAndEnd(open, 'the run ended');
    }
    await this.close();
    await releaseLease(leasePath(plan.root, this.client.address), plan);
  }

  /** Ends following; the job goes on. */
  async close(): Promise<void> {
    const { session } = this;
    this.session = undefined;
    await session?.close();
  }

  private async sessionOf(attempt: JobAttempt): Promise<JobSession> {
    if (this.session?.attempt.submissionId === attempt.submissionId) return this.session;
    await this.close();
    this.session = await JobSession.open(this.client, this.plan, attempt);
    return this.session;
  }

  private async slice(
    session: JobSession,
    attempts: Attempts,
    bounds: SliceBounds,
    hooks: FollowHooks
  ): Promise<TrainingJobResult> {
    const attempt = attempts.open as JobAttempt;
    for (;;) {
      hooks.signal.throwIfAborted();
      const job = await session.look(hooks.patienceMs, hooks.signal);
      if (job === undefined) return await this.lost(session, attempts, bounds, hooks);
      if (isOver(job.status)) return await this.concluded(session, attempts, bounds, job, hooks);
      const problem = jobProblem(attempt, session.reader, false, session.earlier);
      if (problem !== undefined) {
        await patiently(hooks.patienceMs, hooks.signal, () => attempts.condemn(attempt, problem));
        throw jobFailure(problem, attempt);
      }
      const series = session.series();
      const steps = rewardedSteps(series);
      hooks.report(jobReport(this.plan, attempt, series, await this.checkpoint.step()));
      const far = steps < bounds.fromStep || (steps >= bounds.untilStep && steps < this.plan.totalSteps);
      if (far) return await this.result(attempt, series, bounds, false);
      await session.changed(hooks.signal);
    }
  }

  /** All that was asked for may be there, although the job is not. */
  private async lost(
    session: JobSession,
    attempts: Attempts,
    bounds: SliceBounds,
    hooks: FollowHooks
  ): Promise<TrainingJobResult> {
    const attempt = attempts.open as JobAttempt;
    const error = await patiently(hooks.patienceMs, hooks.signal, () => lostJob(attempt, this.client, hooks.signal));
    await session.close();
    const series = session.series();
    const isMissing = (await missingWork(this.plan, series)).length > 0;
    // A log that was cut off says nothing against the work; one with every step does.
    const problem = isMissing ? undefined : jobProblem(attempt, session.reader, true, session.earlier);
    const fault = problem === undefined ? undefined : jobFailure(problem, attempt);
    await this.keepSeries(series, hooks);
    await attempts.end(attempt, { status: 'LOST', message: error.message, ...endCause(fault, true) });
    if (isMissing) throw error;
    if (fault !== undefined) throw fault;
    return await this.result(attempt, series, bounds, true);
  }

  /**
   * A job that is over was a success only if all its work is there: what it says of itself (exit 0, exit 1 while it went down)
   * counts less.
   */
  private async concluded(
    session: JobSession,
    attempts: Attempts,
    bounds: SliceBounds,
    job: JobInfo,
    hooks: FollowHooks
  ): Promise<TrainingJobResult> {
    const attempt = attempts.open as JobAttempt;
    const whole = await session.drain(DRAIN_MS);
    const series = session.series();
    const missing = await missingWork(this.plan, series);
    const problem = jobProblem(attempt, session.reader, true, session.earlier);
    const error =
      problem === undefined ? await this.badEnd(session, job, missing, whole) : jobFailure(problem, attempt);
    await this.keepSeries(series, hooks);
    const [status, cause] = [job.status as JobEnd['status'], endCause(error, problem !== undefined)];
    await attempts.end(attempt, { status, message: job.message, ...cause });
    if (error !== undefined) throw error;
    return await this.result(attempt, series, bounds, true);
  }

  /** Before the job is entered as ended: who comes next judges it by its steps on disk. */
  private async keepSeries(series: readonly SeriesStep[], hooks: FollowHooks): Promise<void> {
    await hooks.fence();
    await writeSeries(seriesPath(this.plan.folder), series);
  }

  /**
   * @param whole its log was read to its end
   * @returns why a job that is over was no success; undefined when it was one
   */
  private async badEnd(
    session: JobSession,
    job: JobInfo,
    missing: readonly string[],
    whole: boolean
  ): Promise<PipelineError | undefined> {
    const { attempt } = session;
    if (missing.length === 0) return undefined;
    const { status, message, exitCode, errorType } = job;
    if (status === 'SUCCEEDED' && !whole)
      return jobFailure(
        { type: 'EngineUnavailable', message: 'it is over, but its log could not be read to its end' },
        attempt
      );
    if (status === 'SUCCEEDED') return incompleteRun(missing, attempt);
    const logTail = (await session.store.last(LOG_TAIL_BYTES)).toString('utf8');
    const end = { status: status as JobEnd['status'], message, exitCode, errorType, logTail };
    const cause = classifyJobFailure(end);
    return jobFailure(cause, attempt, cause.evidence);
  }

  private async result(
    attempt: JobAttempt,
    series: readonly SeriesStep[],
    bounds: SliceBounds,
    finished: boolean
  ): Promise<TrainingJobResult> {
    return sliceResult({ attempt, series, bounds, finished, checkpointStep: await this.checkpoint.step() });
  }
}
