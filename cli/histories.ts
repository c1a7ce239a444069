import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { parseJsonText } from '../shared/contracts/json-text.js';
import { EXIT, UserError } from '../shared/contracts/user-error.js';
import type { TemporalClient } from '../workers/temporal-target.js';

const gunzipAsync = promisify(gunzip);

/** A recorded workflow run. Replay needs the id: those of children are made from it. */
export interface RecordedHistory {
  workflowId: string;
  history: History;
}

/** Larger histories than the server keeps are none. Unit: bytes. */
const LARGEST_HISTORY = 64 * 1024 * 1024;

/**
 * Reads a history file: `{workflowId, history}` as this package records it, or the output of
 * `temporal workflow show --output json`; either may be compressed with gzip.
 *
 * @throws UserError, PipelineError (not JSON)
 */
export async function readHistoryFile(path: string): Promise<RecordedHistory> {
  const value = parseJsonText(await historyText(path), path) as { workflowId?: string; history?: unknown };
  const { historyFromJSON } = await import('@temporalio/common/lib/proto-utils.js');
  try {
    const history = historyFromJSON(value.history ?? value);
    const workflowId = value.workflowId ?? startedId(history);
    if (workflowId !== undefined) return { workflowId, history };
  } catch (error) {
    throw notAHistory(path, (error as Error).message);
  }
  throw notAHistory(path, 'it does not say the workflow’s id');
}

async function historyText(path: string): Promise<string> {
  const bytes = await readFile(path);
  if (!path.endsWith('.gz')) return bytes.toString('utf8');
  try {
    return (await gunzipAsync(bytes, { maxOutputLength: LARGEST_HISTORY })).toString('utf8');
  } catch (error) {
    throw notAHistory(path, (error as Error).message);
  }
}

function startedId(history: History): string | undefined {
  return history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? undefined;
}

function notAHistory(path: string, why: string): UserError {
  return new UserError(`${path} is not a workflow history: ${why}`, {
    cure: 'Make one with `temporal workflow show --workflow-id ID --output json > history.json`.',
    exitCode: EXIT.usage,
  });
}

/** The history of a workflow on the server, and of its children. */
export async function fetchHistories({ client }: TemporalClient, id: string): Promise<RecordedHistory[]> {
  const history = await client.workflow.getHandle(id).fetchHistory();
  const children = (history.events ?? []).flatMap((event) => {
    const execution = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution;
    const childId = execution?.workflowId ?? undefined;
    return childId === undefined ? [] : [{ id: childId, runId: execution?.runId ?? undefined }];
  });
  const recorded: RecordedHistory[] = [{ workflowId: id, history }];
  for (const child of children) {
    const handle = client.workflow.getHandle(child.id, child.runId);
    recorded.push({ workflowId: child.id, history: await handle.fetchHistory() });
  }
  return recorded;
}

/** What was given is a file. */
export function isHistoryFile(given: string): boolean {
  return existsSync(given) || /\.json(\.gz)?$/.test(given);
}
