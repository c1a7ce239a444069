import type { HistoryEvent } from './record.js';

/** What replay cannot see of the commands a workflow gives: queues, time-outs, retry policies, argument keys, timers. */
export interface CommandShapes {
  activities: Record<string, unknown>;
  children: Record<string, unknown>;
  /** Durations of timers. */
  timers: string[];
}

/** Shapes of all commands in some histories. Tags and the recipe's own durations are left to the recipe. */
export function commandShapes(histories: readonly HistoryEvent[][]): CommandShapes {
  const activities = new Map<string, ActivityShape>();
  const children = new Map<string, unknown>();
  const timers = new Set<string>();
  for (const event of histories.flat()) {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled !== undefined) {
      const name = scheduled.activityType.name;
      activities.set(name, activityShape(scheduled, activities.get(name)?.keys ?? []));
    }
    const child = event.startChildWorkflowExecutionInitiatedEventAttributes;
    if (child !== undefined) children.set(child.workflowType.name, { parentClosePolicy: child.parentClosePolicy });
    const timer = event.timerStartedEventAttributes?.startToFireTimeout;
    if (timer !== undefined) timers.add(timer);
  }
  return { activities: sorted(activities), children: sorted(children), timers: [...timers].sort() };
}

interface ActivityShape {
  queue: string;
  startToClose: unknown;
  heartbeat: unknown;
  attempts: unknown;
  /** Of the arguments of all calls: which call comes last is decided by what runs beside it. */
  keys: string[];
}

function activityShape(
  scheduled: NonNullable<HistoryEvent['activityTaskScheduledEventAttributes']>,
  known: readonly string[]
): ActivityShape {
  const argument = scheduled.input?.payloads[0]?.data ?? '';
  const own = Object.keys(JSON.parse(Buffer.from(argument, 'base64').toString('utf8')) as object);
  const keys = [...new Set([...known, ...own])].sort();
  return {
    queue: scheduled.taskQueue.name.replace(/@.*/, '@tag'),
    startToClose: scheduled.startToCloseTimeout,
    heartbeat: scheduled.heartbeatTimeout,
    attempts: scheduled.retryPolicy.maximumAttempts,
    keys,
  };
}

function sorted(entries: Map<string, unknown>): Record<string, unknown> {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}
