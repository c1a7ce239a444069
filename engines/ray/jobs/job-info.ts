import { printable } from '../../../shared/inference/printable.js';
import { CouldNotLook } from './errors.js';

export const JOB_STATUSES = ['PENDING', 'RUNNING', 'STOPPED', 'SUCCEEDED', 'FAILED'] as const;

export type JobStatus = (typeof JOB_STATUSES)[number];

/** A job as the Jobs API describes it (`JobDetails`), as far as we use it. */
export interface JobInfo {
  submissionId: string;
  status: JobStatus;
  entrypoint: string;
  /** For people; of a failed job: exit code and last lines of the log. */
  message: string;
  errorType: string | undefined;
  exitCode: number | undefined;
  metadata: Record<string, string>;
  /** Milliseconds since 1970. */
  startedAt: number | undefined;
  endedAt: number | undefined;
  driverNode: string | undefined;
}

/** The job is over and will not change any more. */
export function isOver(status: JobStatus): status is 'STOPPED' | 'SUCCEEDED' | 'FAILED' {
  return status === 'STOPPED' || status === 'SUCCEEDED' || status === 'FAILED';
}

/** @throws CouldNotLook when the answer is not a job's description: then nothing is known about the job */
export function jobInfo(where: string, value: unknown): JobInfo {
  const found = members(value);
  const status = found['status'];
  const submissionId = found['submission_id'];
  if (!isStatus(status) || typeof submissionId !== 'string')
    throw new CouldNotLook(where, `the answer does not describe a job: ${printable(JSON.stringify(value) ?? '', 200)}`);
  return {
    submissionId,
    status,
    entrypoint: text(found['entrypoint']) ?? '',
    message: text(found['message']) ?? '',
    errorType: text(found['error_type']),
    exitCode: number(found['driver_exit_code']),
    metadata: texts(found['metadata']),
    startedAt: number(found['start_time']),
    endedAt: number(found['end_time']),
    driverNode: text(found['driver_node_id']),
  };
}

/** Drivers that were started without the Jobs API are listed too; they have no submission id. */
export function jobInfos(where: string, value: unknown): JobInfo[] {
  if (!Array.isArray(value)) throw new CouldNotLook(where, 'the answer is not a list of jobs');
  return value
    .filter((each) => typeof members(each)['submission_id'] === 'string')
    .map((each) => jobInfo(where, each))
    .sort((a, b) => (a.submissionId < b.submissionId ? -1 : 1));
}

function isStatus(value: unknown): value is JobStatus {
  return (JOB_STATUSES as readonly unknown[]).includes(value);
}

function members(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function texts(value: unknown): Record<string, string> {
  const entries = Object.entries(members(value)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string'
  );
  return Object.fromEntries(entries);
}
