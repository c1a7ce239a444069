import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { hashJson } from '../../../shared/contracts/canonical-json.js';
import { writeFileAtomic } from '../../../shared/artifacts/atomic-file.js';
import type { RayJobsClient } from '../jobs/client.js';
import { isOver } from '../jobs/job-info.js';
import type { JobSpec, ResumePoint } from '../types.js';
import { leasePath, takeLease } from './cluster-lease.js';
import { causeError, endCause, jobFailure } from './job-end.js';
import { submissionId, writeLineage, type AttemptEnd, type JobAttempt, type Lineage } from './lineage.js';
import { METADATA, type FollowHooks, type TrainingPlan } from './plan.js';
import { resumePoint } from './resume-point.js';
import { lineagePath, patiently, seriesPath } from './session.js';
import { readSeries, rewardedSteps } from './step-series.js';

/** The jobs of one training run: which one is under way, and how the next one begins. */
export class Attempts {
  constructor(
    private readonly plan: TrainingPlan,
    private readonly lineage: Lineage,
    private readonly client: RayJobsClient,
    private readonly hooks: FollowHooks
  ) {}

  /** The job under way; undefined when none was submitted or the last one is over. */
  get open(): JobAttempt | undefined {
    const last = this.lineage.attempts.at(-1);
    return last?.end === undefined ? last : undefined;
  }

  get last(): JobAttempt | undefined {
    return this.lineage.attempts.at(-1);
  }

  /**
   * Makes sure that no other training runs on the cluster.
   *
   * @returns undefined when the cluster is ours, else who has it, in words
   */
  async claim(): Promise<string | undefined> {
    const { pipelineId, arm, phase, root } = this.plan;
    const id = this.open?.submissionId ?? this.nextId();
    const { signal, patienceMs } = this.hooks;
    const path = leasePath(root, this.client.address);
    const holder = await patiently(patienceMs, signal, () =>
      takeLease(path, { pipelineId, arm, phase, submissionId: id }, this.client, signal)
    );
    if (holder !== undefined) return `the ${holder.phase} run of ${holder.arm} in ${holder.pipelineId}`;
    if (this.open?.confirmed === true) return undefined;
    // Runs in another folder have another lease; their jobs tell.
    const jobs = await patiently(patienceMs, signal, () => this.client.list(signal));
    const other = jobs.find(
      (job) => !isOver(job.status) && job.metadata[METADATA.run] !== undefined && job.submissionId !== id
    );
    return other === undefined ? undefined : `job ${other.submissionId}`;
  }

  /**
   * The job to follow: the one under way, else a new one that goes on from the newest checkpoint.
   *
   * @throws PipelineError PinMismatch when the cluster has another job of that id; CouldNotLook, RayRefused, StorageFailed
   */
  async current(): Promise<JobAttempt> {
    const { open } = this;
    if (open === undefined) return await this.begin();
    if (!open.confirmed) await this.submit(open);
    return open;
  }

  /**
   * Ends a job that was to be stopped and was not.
   *
   * @throws PipelineError its fault: whoever found it could not say so, because the stop failed or they were gone; CouldNotLook,
   * RayRefused, StorageFailed
   */
  async settle(): Promise<void> {
    const { open } = this;
    if (open?.condemned === undefined) return;
    const { condemned } = open;
    const { patienceMs, signal } = this.hooks;
    await patiently(patienceMs, signal, () => this.stopAndEnd(open, condemned.message));
    if (open.end?.cause !== undefined) throw causeError(open.end.cause);
  }

  /** Says that a job is over. */
  async end(attempt: JobAttempt, end: Omit<AttemptEnd, 'at'>): Promise<void> {
    attempt.end = { ...end, message: end.message.slice(0, 2_000), at: new Date().toISOString() };
    await this.write();
  }

  /** Stops a job of ours; a worker that dies meanwhile leaves word for the next one. */
  async condemn(attempt: JobAttempt, reason: NonNullable<JobAttempt['condemned']>): Promise<void> {
    attempt.condemned = reason;
    await this.write();
    await this.stopAndEnd(attempt, reason.message);
  }

  /** The limit is long: Relax takes a minute to go down, and Ray's own wait comes on top. */
  async stopAndEnd(attempt: JobAttempt, message: string): Promise<void> {
    const job = await this.client.stop(attempt.submissionId, STOP_LIMIT_MS);
    const status = job !== undefined && isOver(job.status) ? job.status : 'LOST';
    const { condemned } = attempt;
    // A stall is told before its job is stopped, and says nothing against the work.
    const isAtFault = condemned !== undefined && condemned.type !== 'Stalled';
    const fault = isAtFault ? jobFailure(condemned, attempt) : undefined;
    await this.end(attempt, { status, message, ...endCause(fault, true) });
  }

  private async begin(): Promise<JobAttempt> {
    const number = this.lineage.attempts.length + 1;
    const attempt: JobAttempt = {
      number,
      submissionId: this.nextId(),
      specHash: '',
      firstStep: 0,
      confirmed: false,
    };
    this.lineage.attempts.push(attempt);
    await this.submit(attempt);
    return attempt;
  }

  private async submit(attempt: JobAttempt): Promise<void> {
    const { signal, patienceMs } = this.hooks;
    const cluster = await patiently(patienceMs, signal, () => this.client.version(signal));
    const earlier = await readSeries(seriesPath(this.plan.folder));
    const resume = await resumePoint(this.plan.checkpoints, rewardedSteps(earlier));
    const spec = this.describe(attempt, resume);
    attempt.firstStep = resume === undefined ? 0 : resume.step + 1;
    attempt.specHash = spec.metadata[METADATA.spec] as string;
    // In the book first: a job that nobody knows of would never be followed.
    await this.write();
    for (const file of spec.files ?? []) await writeFileAtomic(file.path, file.text);
    await patiently(patienceMs, signal, () => this.client.submit(attempt.submissionId, spec, signal));
    attempt.confirmed = true;
    if (cluster.sessionName !== undefined) attempt.sessionName = cluster.sessionName;
    await this.write();
  }

  private describe(attempt: JobAttempt, resume: ResumePoint | undefined): JobSpec {
    const spec = this.plan.spec(resume);
    const { entrypoint, runtimeEnv } = spec;
    const metadata = {
      ...spec.metadata,
      [METADATA.run]: this.plan.pipelineId,
      [METADATA.arm]: this.plan.arm,
      [METADATA.phase]: this.plan.phase,
      [METADATA.attempt]: String(attempt.number),
      [METADATA.spec]: hashJson({ entrypoint, runtimeEnv }),
    };
    return { ...spec, metadata };
  }

  private nextId(): string {
    const { pipelineId, arm, phase } = this.plan;
    return submissionId(pipelineId, arm, phase, this.lineage, this.lineage.attempts.length + 1);
  }

  private async write(): Promise<void> {
    await this.hooks.fence();
    await writeLineage(lineagePath(this.plan.folder), this.lineage);
  }
}

const STOP_LIMIT_MS = 3 * 60_000;

/** What became of a job that Ray does not know. */
export async function lostJob(attempt: JobAttempt, client: RayJobsClient, signal: AbortSignal): Promise<PipelineError> {
  const { sessionName } = await client.version(signal);
  const restarted =
    attempt.sessionName !== undefined && sessionName !== undefined && sessionName !== attempt.sessionName;
  const why = restarted
    ? `the cluster was started anew (session ${sessionName}, the job ran in ${attempt.sessionName})`
    : 'Ray no longer knows it';
  return new PipelineError('HostLost', `job ${attempt.submissionId} is lost: ${why}`, {
    cure: 'The next job goes on from the newest complete checkpoint.',
  });
}
