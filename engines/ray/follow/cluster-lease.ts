import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { storageError, writeFileAtomic } from '../../../shared/artifacts/atomic-file.js';
import { createFile, removeFile } from '../../../shared/artifacts/create-file.js';
import { identify, isAlive, type ProcessIdentity } from '../../../shared/runtime/process-identity.js';
import type { RayJobsClient } from '../jobs/client.js';
import { isOver } from '../jobs/job-info.js';

/** Who may run a training job on a cluster. The frameworks take the whole cluster, and one would clean away the other's. */
export interface ClusterLease {
  pipelineId: string;
  arm: string;
  phase: string;
  submissionId: string;
  host: string;
  owner: ProcessIdentity;
  renewedAt: number;
}

export type LeaseClaim = Pick<ClusterLease, 'pipelineId' | 'arm' | 'phase' | 'submissionId'>;

/** A holder whose job is over is between two jobs for this long at most; then it is gone. Unit: milliseconds. */
const BETWEEN_JOBS_MS = 5 * 60_000;

/** The file that stands for a cluster, in the folder of all runs. */
export function leasePath(root: string, address: string): string {
  return join(root, '.clusters', `${createHash('sha256').update(address).digest('hex').slice(0, 16)}.json`);
}

/**
 * Takes or renews the lease.
 *
 * @returns undefined when it is ours now, else whose it is
 * @throws PipelineError StorageFailed; CouldNotLook when the holder's job cannot be looked at
 */
export async function takeLease(
  path: string,
  claim: LeaseClaim,
  client: RayJobsClient,
  signal: AbortSignal
): Promise<ClusterLease | undefined> {
  for (;;) {
    signal.throwIfAborted();
    const text = await readText(path);
    if (text === undefined) {
      if (await create(path, claim)) return undefined;
      continue;
    }
    const holder = parse(text);
    if (holder !== undefined && isSameRun(holder, claim)) {
      await writeFileAtomic(path, leaseText(claim));
      return undefined;
    }
    if (holder !== undefined && !(await isStale(holder, client, signal))) return holder;
    await removeFile(path, (found) => found === text);
  }
}

/** Gives the lease up, if it is this run's. */
export async function releaseLease(path: string, claim: Omit<LeaseClaim, 'submissionId'>): Promise<void> {
  const text = await readText(path);
  const holder = text === undefined ? undefined : parse(text);
  if (text !== undefined && holder !== undefined && isSameRun(holder, claim))
    await removeFile(path, (found) => found === text);
}

function isSameRun(a: Omit<LeaseClaim, 'submissionId'>, b: Omit<LeaseClaim, 'submissionId'>): boolean {
  return a.pipelineId === b.pipelineId && a.arm === b.arm && a.phase === b.phase;
}

/** A running job holds the lease for its owner, whatever became of that; without one, only a living owner does. */
async function isStale(holder: ClusterLease, client: RayJobsClient, signal: AbortSignal): Promise<boolean> {
  const job = await client.status(holder.submissionId, signal);
  if (job !== undefined && !isOver(job.status)) return false;
  if (holder.host === hostname() && !isAlive(holder.owner)) return true;
  return Date.now() - holder.renewedAt > BETWEEN_JOBS_MS;
}

function leaseText(claim: LeaseClaim): string {
  const { pipelineId, arm, phase, submissionId } = claim;
  const lease: ClusterLease = {
    pipelineId,
    arm,
    phase,
    submissionId,
    host: hostname(),
    owner: identify(process.pid),
    renewedAt: Date.now(),
  };
  return `${JSON.stringify(lease)}\n`;
}

async function create(path: string, claim: LeaseClaim): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true }).catch((error: unknown) => {
    throw storageError(path, error);
  });
  return await createFile(path, leaseText(claim));
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw storageError(path, error);
  }
}

function parse(text: string): ClusterLease | undefined {
  try {
    return JSON.parse(text) as ClusterLease;
  } catch {
    // Torn by a power cut: nobody's.
    return undefined;
  }
}
