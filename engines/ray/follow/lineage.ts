import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { storageError, writeFileAtomic } from '../../../shared/artifacts/atomic-file.js';
import type { FailureDetails, FailureType } from '../../../shared/contracts/failures.js';

/** One job of a training run. Written before it is submitted, so that nothing runs that is not in the book. */
export interface JobAttempt {
  /** 1, 2, … */
  number: number;
  submissionId: string;
  /** Hash of what was submitted. */
  specHash: string;
  /** The first step the job must do: 0, or the one after its checkpoint. */
  firstStep: number;
  /** Ray took it. */
  confirmed: boolean;
  /** Session of the cluster that took it: another one does not have the job. */
  sessionName?: string;
  /** Ours to stop, because it does not do what it should. */
  condemned?: { type: FailureType; message: string };
  end?: AttemptEnd;
}

export interface AttemptEnd {
  /** Ray's status, or `LOST` when Ray no longer knows the job. */
  status: 'STOPPED' | 'SUCCEEDED' | 'FAILED' | 'LOST';
  at: string;
  message: string;
  /** Why the run could not go on with the job, as its follower said it: a follower that dies is not heard. */
  cause?: EndCause;
}

/** An error of the failure table, to be thrown again. */
export interface EndCause {
  type: FailureType;
  message: string;
  details: FailureDetails;
  /** The work itself is at fault, and not only missing: what is there of it is not taken. */
  isDistrusted?: true;
}

/** The jobs of one training run, each going on from the one before. */
export interface Lineage {
  schema: 1;
  /** Makes the submission ids unlike those of any other run, also of one in another folder or of a stage made anew. */
  id: string;
  attempts: JobAttempt[];
}

/** @throws PipelineError StorageFailed when the file is there and cannot be read */
export async function readLineage(path: string): Promise<Lineage> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return { schema: 1, id: randomUUID().slice(0, 8), attempts: [] };
    throw storageError(path, error);
  }
  try {
    return JSON.parse(text) as Lineage;
  } catch (error) {
    throw storageError(path, error);
  }
}

export async function writeLineage(path: string, lineage: Lineage): Promise<void> {
  await writeFileAtomic(path, `${JSON.stringify(lineage, null, 2)}\n`);
}

/** Letters that are safe in Ray's ids, file names and URLs. */
const UNSAFE = /[^A-Za-z0-9_-]+/g;
const LONGEST_NAME = 60;

/** Ray's id of an attempt: says to people whose job it is, and is the same however often it is made. */
export function submissionId(pipelineId: string, arm: string, phase: string, lineage: Lineage, number: number): string {
  const name = pipelineId.replace(UNSAFE, '-').slice(0, LONGEST_NAME);
  return `${name}-${arm}-${phase}-${number}-${lineage.id}`;
}
