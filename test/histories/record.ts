import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { ApplicationFailure } from '@temporalio/activity';
import type { WorkflowHandle } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { packageRoot } from '../../shared/runtime/entry.js';

export const HISTORIES = join(packageRoot(), 'test', 'histories');
const EXTENSION = '.json.gz';

/** An event as far as the tests look into it. */
export interface HistoryEvent {
  eventType: string;
  activityTaskScheduledEventAttributes?: {
    activityType: { name: string };
    taskQueue: { name: string };
    startToCloseTimeout: string;
    heartbeatTimeout?: string;
    retryPolicy: { maximumAttempts?: number };
    input?: { payloads: { data: string }[] };
  };
  timerStartedEventAttributes?: { startToFireTimeout: string };
  startChildWorkflowExecutionInitiatedEventAttributes?: { workflowType: { name: string }; parentClosePolicy: string };
  childWorkflowExecutionStartedEventAttributes?: { workflowExecution: { workflowId: string; runId: string } };
  workflowExecutionContinuedAsNewEventAttributes?: { newExecutionRunId: string };
}

export interface RecordedRun {
  workflowId: string;
  history: { events: HistoryEvent[] };
}

/** Names of the committed histories: `<scenario>.<workflow>`. */
export async function recordedNames(): Promise<string[]> {
  const files = await readdir(HISTORIES);
  return files.filter((name) => name.endsWith(EXTENSION)).map((name) => name.slice(0, -EXTENSION.length)).sort();
}

export async function loadHistory(name: string): Promise<RecordedRun> {
  return JSON.parse(gunzipSync(await readFile(join(HISTORIES, name + EXTENSION))).toString('utf8')) as RecordedRun;
}

/** Takes away what an earlier recording of a scenario left. */
async function forget(scenario: string): Promise<void> {
  const old = (await recordedNames()).filter((name) => name.startsWith(`${scenario}.`));
  for (const name of old) await rm(join(HISTORIES, name + EXTENSION));
}

/** History of one run as JSON events. */
export async function fetchRun(
  environment: TestWorkflowEnvironment,
  workflowId: string,
  runId?: string
): Promise<RecordedRun> {
  const history = await environment.client.workflow.getHandle(workflowId, runId).fetchHistory();
  return { workflowId, history: JSON.parse(historyToJSON(history)) as RecordedRun['history'] };
}

/**
 * Writes the histories of a pipeline and of its children as `<scenario>.<workflow>[-n].json.gz`; n counts runs of a child after
 * the first.
 *
 * @param children which to keep; all when not given
 */
export async function record(
  environment: TestWorkflowEnvironment,
  scenario: string,
  pipeline: WorkflowHandle,
  children?: readonly string[]
): Promise<void> {
  await mkdir(HISTORIES, { recursive: true });
  await forget(scenario);
  const parent = await fetchRun(environment, pipeline.workflowId);
  await write(`${scenario}.pipeline`, parent);
  const runs = new Map<string, number>();
  for (const event of parent.history.events) {
    const child = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution;
    if (child === undefined) continue;
    const name = child.workflowId.split('/')[1] as string;
    if (children !== undefined && !children.includes(name)) continue;
    for (let runId: string | undefined = child.runId; runId !== undefined; ) {
      const run = await fetchRun(environment, child.workflowId, runId);
      const number = (runs.get(name) ?? 0) + 1;
      runs.set(name, number);
      await write(`${scenario}.${name}${number === 1 ? '' : `-${number}`}`, run);
      runId = run.history.events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
    }
  }
}

async function write(name: string, run: RecordedRun): Promise<void> {
  await writeFile(join(HISTORIES, name + EXTENSION), gzipSync(withoutMachine(JSON.stringify(run)), { level: 9 }));
}

/** A failure of the table, as an activity would end with it. */
export function fault(type: string, nonRetryable: boolean): ApplicationFailure {
  return ApplicationFailure.create({ type, message: `${type} on purpose`, nonRetryable });
}

/** Stack traces and identities say where a history was recorded: of no use to replay, and different on every machine. */
function withoutMachine(text: string): string {
  return text
    .replaceAll(`${packageRoot()}/`, '')
    .replaceAll(/"identity":"[^"]*"/g, '"identity":"worker"')
    .replaceAll(/"stackTrace":"(?:[^"\\]|\\.)*"/g, '"stackTrace":""');
}
