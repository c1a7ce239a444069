import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { Recipe } from '../../../shared/contracts/recipe.js';
import type { RayJobsClient } from '../jobs/client.js';
import { isOver, type JobInfo } from '../jobs/job-info.js';
import { classifyJobFailure } from '../log/classify.js';
import type { JobSpec } from '../types.js';
import { preflightJob, type PreflightFacts } from './preflight-job.js';
import { readPreflight, type PreflightFindings } from './read-preflight.js';

/** Hashing a model of some GiB takes a minute; a cluster without room for a driver never begins. Unit: milliseconds. */
const LIMIT_MS = 15 * 60_000;
const STOP_LIMIT_MS = 60_000;
const FIRST_LOOK_MS = 200;
const LONGEST_LOOK_MS = 2_000;

/**
 * Looks at a cluster by a job of its own, which is gone afterwards.
 *
 * @returns what is wrong and what is taken; both empty when an arm can be trained there now
 * @throws PipelineError when the job failed before it could look
 */
export async function runPreflight(
  client: RayJobsClient,
  recipe: Recipe,
  arm: string,
  facts: PreflightFacts,
  signal: AbortSignal
): Promise<PreflightFindings> {
  const spec = await preflightJob(recipe, arm, facts);
  const id = `memagent-preflight-${arm}-${randomUUID()}`;
  await writeFiles(spec);
  try {
    await client.submit(id, spec, signal);
    const job = await over(client, id, signal);
    const log = await client.logs(id, signal);
    const findings = readPreflight(log, recipe, arm, facts);
    if (findings === undefined) throw couldNotLook(job, log, client.address);
    return findings;
  } finally {
    await remove(client, id);
    await rm(facts.marker.path, { force: true });
  }
}

async function writeFiles({ files = [] }: JobSpec): Promise<void> {
  for (const { path, text } of files) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}

async function over(client: RayJobsClient, id: string, signal: AbortSignal): Promise<JobInfo> {
  const deadline = performance.now() + LIMIT_MS;
  for (let wait = FIRST_LOOK_MS; ; wait = Math.min(LONGEST_LOOK_MS, wait * 2)) {
    const job = await client.status(id, signal);
    if (job === undefined) throw new PipelineError('EngineUnavailable', `Ray forgot the preflight job ${id}`);
    if (isOver(job.status)) return job;
    if (performance.now() > deadline)
      throw new PipelineError(
        'EngineUnavailable',
        `the preflight job ${id} is still ${job.status} after ${LIMIT_MS / 60_000} minutes`,
        {
          where: client.address,
          cure: 'Look at the cluster in Ray’s dashboard: a job that stays PENDING finds no room for its driver.',
        }
      );
    await pause(wait, undefined, { signal });
  }
}

function couldNotLook(job: JobInfo, logTail: string, address: string): PipelineError {
  const { status, message, exitCode, errorType } = job;
  if (!isOver(status)) throw new RangeError(`job ${job.submissionId} is not over`);
  const failure = classifyJobFailure({ status, message, exitCode, errorType, logTail });
  return new PipelineError(failure.type, `the preflight job could not look at the cluster: ${failure.message}`, {
    problems: failure.evidence,
    where: address,
  });
}

/** Only an own job, so that nothing is left of it; a cluster out of reach keeps it, and it ends by itself. */
async function remove(client: RayJobsClient, id: string): Promise<void> {
  const signal = AbortSignal.timeout(STOP_LIMIT_MS);
  try {
    const job = await client.stop(id, STOP_LIMIT_MS, signal);
    if (job !== undefined) await client.delete(id, signal);
  } catch {
    // Whatever is thrown here would hide why the look itself failed.
  }
}
