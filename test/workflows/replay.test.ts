import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { describe, expect, it } from 'vitest';
import { entryPath } from '../../shared/runtime/entry.js';
import { HISTORIES } from '../histories/record.js';

interface RecordedHistory {
  workflowId: string;
  history: { events: { eventType: string; activityTaskScheduledEventAttributes?: ScheduledActivity }[] };
}

interface ScheduledActivity {
  activityType: { name: string };
  taskQueue: { name: string };
  startToCloseTimeout: string;
  heartbeatTimeout: string;
  retryPolicy: { maximumAttempts?: number };
  input?: { payloads: { data: string }[] };
}

const files = readdirSync(HISTORIES).filter((name) => name.endsWith('.json') && !name.startsWith('commands'));

function load(name: string): RecordedHistory {
  return JSON.parse(readFileSync(join(HISTORIES, name), 'utf8')) as RecordedHistory;
}

describe('recorded histories', () => {
  it('cover the ways a run can go', () => {
    for (const scenario of [
      'happy',
      'two-arms',
      'continue-as-new',
      'generation-retried',
      'conversion-halted',
      'rows-lost',
      'worker-killed',
      'cancelled',
    ]) {
      expect(files.some((file) => file.startsWith(`${scenario}.`))).toBe(true);
    }
  });

  it.each(files)('%s replays on the workflow code of today', async (name) => {
    const { workflowId, history } = load(name);
    await Worker.runReplayHistory(
      { workflowBundle: { codePath: entryPath('workflow-bundle.js') } },
      history,
      workflowId
    );
  });

  it('a history with an activity renamed does not replay: the check can fail', async () => {
    const { workflowId, history } = load('happy.train-relax.json');
    const changed = JSON.parse(JSON.stringify(history).replaceAll('generateRollouts', 'generateSomething')) as object;
    await expect(
      Worker.runReplayHistory({ workflowBundle: { codePath: entryPath('workflow-bundle.js') } }, changed, workflowId)
    ).rejects.toThrow(DeterminismViolationError);
  });
});

/** What replay cannot see: queue, time-outs, retry policy and the keys of each activity's argument. */
function shapes(): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const name of files.filter((file) => file.startsWith('happy.'))) {
    for (const event of load(name).history.events) {
      const scheduled = event.activityTaskScheduledEventAttributes;
      if (scheduled === undefined) continue;
      const argument = scheduled.input?.payloads[0]?.data ?? '';
      const keys = Object.keys(JSON.parse(Buffer.from(argument, 'base64').toString('utf8')) as object).sort();
      found[scheduled.activityType.name] = {
        queue: scheduled.taskQueue.name.replace(/@.*/, '@tag'),
        startToClose: scheduled.startToCloseTimeout,
        heartbeat: scheduled.heartbeatTimeout,
        attempts: scheduled.retryPolicy.maximumAttempts,
        keys,
      };
    }
  }
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
}

describe('the scheduled commands', () => {
  it('have the shape on record', async () => {
    await expect(`${JSON.stringify(shapes(), null, 2)}\n`).toMatchFileSnapshot(join(HISTORIES, 'commands.golden.json'));
  });
});
