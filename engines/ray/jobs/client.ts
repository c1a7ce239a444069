import { setTimeout as pause } from 'node:timers/promises';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { printable } from '../../../shared/inference/printable.js';
import type { JobSpec } from '../types.js';
import { rayConnection, type RayConnection, type RayConnectionOptions } from './connection.js';
import { CouldNotLook } from './errors.js';
import { exchange, exchangeJson, parseJson, refusal } from './exchange.js';
import { isOver, jobInfo, jobInfos, type JobInfo } from './job-info.js';
import { tailLog, type TailEnd } from './tail.js';

/** Facts of a cluster. */
export interface RayVersion {
  rayVersion: string;
  /** A new one with every start of the head: jobs of another session are gone. Absent where Ray does not say. */
  sessionName: string | undefined;
}

export interface Submission {
  job: JobInfo;
  /** The very job was there already, from an attempt that did not live to hear the answer. */
  adopted: boolean;
}

const DUPLICATE = /already exists/i;
const FIRST_LOOK_MS = 200;
const LONGEST_LOOK_MS = 2_000;

/**
 * Ray's Jobs API (`/api/jobs`, tested with Ray 2.49): the REST interface of the dashboard. Every call is bounded in time and
 * size. An id is never used twice, because Ray appends to the log file of a deleted job of the same id.
 */
export class RayJobsClient {
  private constructor(private readonly connection: RayConnection) {}

  /** @throws UserError when the certificate file cannot be read */
  static async open(options: RayConnectionOptions): Promise<RayJobsClient> {
    return new RayJobsClient(await rayConnection(options));
  }

  get address(): string {
    return this.connection.address;
  }

  /** @throws CouldNotLook */
  async version(signal?: AbortSignal): Promise<RayVersion> {
    const value = (await exchangeJson(this.connection, { method: 'GET', path: '/api/version' }, signal)) as Record<
      string,
      unknown
    > | null;
    if (typeof value?.['ray_version'] !== 'string')
      throw new CouldNotLook(this.where('GET', '/api/version'), 'this is no Ray dashboard: no ray_version');
    const session = value['session_name'];
    return { rayVersion: value['ray_version'], sessionName: typeof session === 'string' ? session : undefined };
  }

  /**
   * Submits a job under an id of ours. Safe to repeat: when the id is taken by the same job, that one is the answer.
   *
   * @throws PipelineError PinMismatch when the id is taken by another job; CouldNotLook, RayRefused
   */
  async submit(id: string, spec: JobSpec, signal?: AbortSignal): Promise<Submission> {
    const body = {
      submission_id: id,
      entrypoint: spec.entrypoint,
      runtime_env: spec.runtimeEnv,
      metadata: spec.metadata,
      ...(spec.entrypointResources === undefined ? {} : { entrypoint_resources: spec.entrypointResources }),
    };
    const outgoing = { method: 'POST', path: '/api/jobs/', body } as const;
    const answer = await exchange(this.connection, outgoing, signal);
    const good = answer.status >= 200 && answer.status < 300;
    // Ray says it with status 500 (its agent's 400, wrapped by the head): only the text tells it from a failure.
    if (!good && !DUPLICATE.test(answer.text)) throw refusal(this.where('POST', '/api/jobs/'), answer);
    const job = await this.status(id, signal);
    if (job === undefined)
      throw new CouldNotLook(this.where('POST', '/api/jobs/'), `job ${id} was taken, but is not there`);
    if (!good) checkSame(job, spec);
    return { job, adopted: !good };
  }

  /** @returns undefined when Ray says that it does not know the job. @throws CouldNotLook, RayRefused */
  async status(id: string, signal?: AbortSignal): Promise<JobInfo | undefined> {
    const path = jobPath(id);
    const where = this.where('GET', path);
    const answer = await exchange(this.connection, { method: 'GET', path }, signal);
    // A gateway's own 404 must not pass for Ray's: a job would be given up that runs.
    if (answer.status === 404 && /does not exist/i.test(answer.text)) return undefined;
    if (answer.status === 404)
      throw new CouldNotLook(where, `not found, but not by Ray: ${printable(answer.text.trim(), 200)}`);
    if (answer.status !== 200) throw refusal(where, answer);
    return jobInfo(where, parseJson(where, answer.text));
  }

  /** Jobs that were submitted through the API, sorted by id. @throws CouldNotLook, RayRefused */
  async list(signal?: AbortSignal): Promise<JobInfo[]> {
    const value = await exchangeJson(this.connection, { method: 'GET', path: '/api/jobs/' }, signal);
    return jobInfos(this.where('GET', '/api/jobs/'), value);
  }

  /** Asks Ray to stop a job; returns before it has. @returns false when it was over already */
  async requestStop(id: string, signal?: AbortSignal): Promise<boolean> {
    const outgoing = { method: 'POST', path: `${jobPath(id)}/stop`, body: {} } as const;
    const value = (await exchangeJson(this.connection, outgoing, signal)) as { stopped?: unknown } | null;
    return value?.stopped === true;
  }

  /**
   * Stops a job and waits until it is over. Ray sends SIGTERM to the driver's tree, and SIGKILL some seconds later.
   *
   * @returns the job as it ended; undefined when Ray does not know it
   * @throws CouldNotLook when it is not over within the limit
   */
  async stop(id: string, limitMs: number, signal?: AbortSignal): Promise<JobInfo | undefined> {
    const deadline = performance.now() + limitMs;
    for (let wait = FIRST_LOOK_MS; ; wait = Math.min(LONGEST_LOOK_MS, wait * 2)) {
      const job = await this.status(id, signal);
      if (job === undefined || isOver(job.status)) return job;
      if (performance.now() > deadline)
        throw new CouldNotLook(
          this.where('POST', `${jobPath(id)}/stop`),
          `job ${id} is still ${job.status} ${Math.round(limitMs / 1000)} s after it was asked to stop`
        );
      // Asked again each time: a stop that meets a job that is just starting is lost.
      await this.requestStop(id, signal);
      await pause(wait, undefined, { ...(signal === undefined ? {} : { signal }), ref: true });
    }
  }

  /** Forgets a job that is over. Its log file stays on the cluster. @throws RayRefused while it runs */
  async delete(id: string, signal?: AbortSignal): Promise<void> {
    await exchangeJson(this.connection, { method: 'DELETE', path: jobPath(id) }, signal);
  }

  /** The whole log; for logs within the connection's size limit. @throws CouldNotLook, RayRefused */
  async logs(id: string, signal?: AbortSignal): Promise<string> {
    const path = `${jobPath(id)}/logs`;
    const value = (await exchangeJson(this.connection, { method: 'GET', path }, signal)) as { logs?: unknown } | null;
    if (typeof value?.logs !== 'string') throw new CouldNotLook(this.where('GET', path), 'the answer has no “logs”');
    return value.logs;
  }

  /**
   * Follows the log from its first byte until the server closes the stream or the signal is aborted.
   *
   * @param onText gets the text in order; returning false ends the stream
   * @throws CouldNotLook when no stream came about
   */
  tail(id: string, onText: (text: string) => boolean, signal: AbortSignal): Promise<TailEnd> {
    return tailLog(this.connection, `${jobPath(id)}/logs/tail`, onText, signal);
  }

  async close(): Promise<void> {
    await this.connection.agent.destroy();
  }

  private where(method: string, path: string): string {
    return `${method} ${this.address}${path}`;
  }
}

function jobPath(id: string): string {
  return `/api/jobs/${encodeURIComponent(id)}`;
}

/** @throws PipelineError PinMismatch naming what differs */
function checkSame(job: JobInfo, spec: JobSpec): void {
  const differing = Object.keys(spec.metadata).filter((key) => job.metadata[key] !== spec.metadata[key]);
  const problems = [
    ...(job.entrypoint === spec.entrypoint ? [] : ['the entrypoint differs']),
    ...differing.map((key) => `metadata ${key} differs`),
  ];
  if (problems.length === 0) return;
  throw new PipelineError(
    'PinMismatch',
    `the cluster has another job with the id ${job.submissionId}: ${problems.join(', ')}`,
    { problems, cure: 'Look at the job in Ray’s dashboard; start the run under another workflow id.' }
  );
}
