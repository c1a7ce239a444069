import type { WorkflowHandle } from '@temporalio/client';
import type { FailureDetails } from '../shared/contracts/failures.js';
import { PROGRESS_QUERY, type Progress } from '../shared/contracts/progress.js';
import type { TemporalClient } from '../workers/temporal-target.js';
import { countPollers } from './pollers.js';
import type { Terminal } from './terminal.js';

/** What is known about a pipeline at one moment. */
export interface Snapshot {
  id: string;
  runId: string;
  /** Status of the workflow, as the server says. */
  status: WorkflowStatus;
  startedAt: string;
  closedAt?: string;
  historyEvents: number;
  /** Absent when no worker answered the query. */
  progress?: Progress;
  /** Why the picture is incomplete, in a sentence. */
  problem?: string;
  /** Why the workflow ended, when it failed. */
  failure?: { type: string; message: string; details: FailureDetails };
}

export type WorkflowStatus =
  'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'TERMINATED' | 'TIMED_OUT' | 'CONTINUED_AS_NEW' | 'UNKNOWN';

const NO_WORKER = 'no workflow worker answers: start one with `memagent worker --role workflow` (or `memagent dev`)';

/** A worker that is there answers a query in milliseconds; one that replays a long history in seconds. */
const QUERY_LIMIT_MS = 8_000;

/** Runs `body` with a connection to the configured server. */
export async function withClient<T>(terminal: Terminal, body: (client: TemporalClient) => Promise<T>): Promise<T> {
  // Loaded here: most commands never talk to Temporal, and its client takes half a second to load.
  const { connectClient, temporalTarget } = await import('../workers/temporal-target.js');
  const connected = await connectClient(temporalTarget(terminal.env));
  try {
    return await body(connected);
  } finally {
    await connected.close();
  }
}

/** @throws WorkflowNotFoundError, ServiceError */
export async function takeSnapshot(connected: TemporalClient, id: string): Promise<Snapshot> {
  const { client } = connected;
  const handle = client.workflow.getHandle(id);
  const described = await handle.describe();
  const status = statusName(described.status.name);
  const task = described.raw.pendingWorkflowTask;
  const snapshot: Snapshot = {
    id,
    runId: described.runId,
    status,
    startedAt: described.startTime.toISOString(),
    ...(described.closeTime === undefined ? {} : { closedAt: described.closeTime.toISOString() }),
    historyEvents: described.historyLength,
  };
  if ((task?.attempt ?? 1) > 2 && status === 'RUNNING')
    snapshot.problem = `the workflow task failed ${(task?.attempt ?? 1) - 1} times: the workers may run other code than the run began with`;
  // Without a worker a query only fails after its whole time limit.
  if ((await countPollers(connected, described.taskQueue, 'workflow')) > 0) await addProgress(client, handle, snapshot);
  else snapshot.problem ??= NO_WORKER;
  if (status === 'FAILED' || status === 'TIMED_OUT') {
    await addFailure(client.workflow.getHandle(id, described.runId, { followRuns: false }), snapshot);
  }
  return snapshot;
}

function statusName(name: string): WorkflowStatus {
  const known = ['RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT', 'CONTINUED_AS_NEW'] as const;
  return known.find((status) => status === name) ?? 'UNKNOWN';
}

async function addProgress(
  client: TemporalClient['client'],
  handle: WorkflowHandle,
  snapshot: Snapshot
): Promise<void> {
  try {
    snapshot.progress = await client.withDeadline(Date.now() + QUERY_LIMIT_MS, () =>
      handle.query<Progress>(PROGRESS_QUERY)
    );
  } catch (error) {
    snapshot.problem ??= queryProblem(error as Error);
  }
}

function queryProblem(error: Error): string {
  const text = `${error.message} ${error.cause instanceof Error ? error.cause.message : ''}`;
  if (/no poller|DEADLINE|deadline|timed? ?out/i.test(text) || error.name === 'ServiceError') return NO_WORKER;
  return `the progress query failed: ${error.message}`;
}

async function addFailure(handle: WorkflowHandle, snapshot: Snapshot): Promise<void> {
  try {
    await handle.result();
  } catch (error) {
    const { ApplicationFailure, WorkflowFailedError } = await import('@temporalio/client');
    if (!(error instanceof WorkflowFailedError)) return;
    const cause = deepest(error.cause ?? error);
    snapshot.failure = {
      type: cause instanceof ApplicationFailure ? (cause.type ?? 'Error') : cause.name,
      message: cause.message,
      details: cause instanceof ApplicationFailure ? ((cause.details?.[0] as FailureDetails | undefined) ?? {}) : {},
    };
  }
}

/** Failures of activities and children only wrap what went wrong. */
const WRAPPERS = new Set(['ActivityFailure', 'ChildWorkflowFailure']);

function deepest(error: Error): Error {
  let current = error;
  while (WRAPPERS.has(current.name) && current.cause instanceof Error) current = current.cause;
  return current;
}
