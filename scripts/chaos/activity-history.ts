import type { TemporalClient } from '../../workers/temporal-target.js';

/** One attempt of an activity, as the server's history tells it. Times in milliseconds since 1970. */
export interface ActivityRun {
  workflowId: string;
  activity: string;
  scheduledAt: number;
  /** Absent when no worker had taken it. */
  startedAt?: number;
  /** Worker that took it: `<pid>@<host>`. */
  identity?: string;
  /** Absent while it runs. */
  closedAt?: number;
  outcome: 'open' | 'completed' | 'failed' | 'cancelled';
}

type History = Awaited<ReturnType<ReturnType<TemporalClient['client']['workflow']['getHandle']>['fetchHistory']>>;
type HistoryEvent = NonNullable<History['events']>[number];

interface Execution {
  workflowId: string;
  runId: string | undefined;
}

/** Every attempt of every activity of a workflow, of what it continued as, and of its children, in the order of the schedule. */
export async function activityHistory(connected: TemporalClient, workflowId: string): Promise<ActivityRun[]> {
  const runs: ActivityRun[] = [];
  const waiting: Execution[] = [{ workflowId, runId: undefined }];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const handle = connected.client.workflow.getHandle(next.workflowId, next.runId);
    const events = (await handle.fetchHistory()).events ?? [];
    runs.push(...readActivities(next.workflowId, events));
    waiting.push(...events.flatMap((event) => following(next.workflowId, event)));
  }
  return runs.sort((a, b) => a.scheduledAt - b.scheduledAt);
}

function following(workflowId: string, event: HistoryEvent): Execution[] {
  const child = event.childWorkflowExecutionStartedEventAttributes?.workflowExecution;
  if (child?.workflowId) return [{ workflowId: child.workflowId, runId: child.runId ?? undefined }];
  const next = event.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  return next ? [{ workflowId, runId: next }] : [];
}

function readActivities(workflowId: string, events: readonly HistoryEvent[]): ActivityRun[] {
  const byEvent = new Map<string, ActivityRun>();
  for (const event of events) {
    const at = timeOf(event);
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled) {
      const activity = scheduled.activityType?.name ?? '';
      byEvent.set(String(event.eventId), { workflowId, activity, scheduledAt: at, outcome: 'open' });
      continue;
    }
    const started = event.activityTaskStartedEventAttributes;
    const run = byEvent.get(String(started?.scheduledEventId ?? closingOf(event)?.scheduledEventId));
    if (run === undefined) continue;
    if (started) Object.assign(run, { startedAt: at, identity: started.identity ?? '' });
    else Object.assign(run, { closedAt: at, outcome: outcomeOf(event) });
  }
  return [...byEvent.values()];
}

function closingOf(event: HistoryEvent): { scheduledEventId?: unknown } | undefined {
  return (
    event.activityTaskCompletedEventAttributes ??
    event.activityTaskFailedEventAttributes ??
    event.activityTaskTimedOutEventAttributes ??
    event.activityTaskCanceledEventAttributes ??
    undefined
  );
}

function outcomeOf(event: HistoryEvent): ActivityRun['outcome'] {
  if (event.activityTaskCompletedEventAttributes) return 'completed';
  return event.activityTaskCanceledEventAttributes ? 'cancelled' : 'failed';
}

function timeOf({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1000 + Number(eventTime?.nanos ?? 0) / 1_000_000;
}
