import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PIPELINE_WORKFLOW_TYPE, PROGRESS_QUERY, type Progress } from '../../shared/contracts/progress.js';
import { WORKER_SHUTDOWN } from '../../shared/contracts/activities.js';
import { WORKFLOW_TASK_QUEUE } from '../../shared/contracts/queues.js';
import { connectClient } from '../../workers/temporal-target.js';
import { activityHistory, type ActivityRun } from '../chaos/activity-history.js';
import { artifactHashes } from '../chaos/artifact-hashes.js';
import type { Stage } from '../chaos/processes.js';

/** One line of the time-line. */
export interface Moment {
  /** Seconds since the deploy began. */
  at: number;
  what: string;
}

export interface DeployDrill {
  timeline: Moment[];
  problems: string[];
}

const WORKER_UP = 'worker started';
const LOOK_MS = 50;

interface Deployed {
  stage: Stage;
  recipe: Record<string, unknown>;
  id: string;
  runDirectory: string;
  /** Run directory of the same recipe without a deploy. */
  calmDirectory: string;
}

/**
 * Replaces every worker in turn by SIGTERM while an arm trains, as a deploy does, and tells what happened when. A problem is anything
 * that a deploy must not do: an attempt that spends a budget, a step done twice or left out, bytes that differ.
 */
export async function deployDrill(options: Deployed): Promise<DeployDrill> {
  const { stage, recipe, id, runDirectory, calmDirectory } = options;
  const connected = await connectClient(stage.target);
  try {
    const handle = await connected.client.workflow.start(PIPELINE_WORKFLOW_TYPE, {
      taskQueue: WORKFLOW_TASK_QUEUE,
      workflowId: id,
      args: [recipe],
    });
    const progress = (): Promise<Progress> => handle.query<Progress>(PROGRESS_QUERY);
    while (!isTraining(await progress().catch(() => undefined))) await pause(LOOK_MS);
    const from = Date.now();
    const timeline = [{ at: 0, what: `deploy begins; ${stepsOf(await progress())}` }];
    const note = (what: string): void => void timeline.push({ at: (Date.now() - from) / 1000, what });
    for (const worker of stage.workers) {
      note(`SIGTERM ${worker.name}`);
      await worker.stop();
      note(`${worker.name} has ended`);
      worker.start();
      await worker.untilItSays(WORKER_UP);
      note(`${worker.name} serves again`);
    }
    const to = Date.now();
    note(`deploy is over; ${stepsOf(await progress())}`);
    await handle.result();
    const end = await progress();
    const runs = await activityHistory(connected, id);
    timeline.push(...handedBack(end, from), ...cutShort(runs, from, to));
    timeline.sort((a, b) => a.at - b.at);
    return { timeline, problems: [...spent(end), ...differing(calmDirectory, runDirectory)] };
  } finally {
    await connected.close();
  }
}

/** The first arm is some steps into its full run. */
function isTraining(progress: Progress | undefined): boolean {
  return Object.values(progress?.arms ?? {}).some((arm) => arm.phase === 'train' && arm.step >= 3);
}

function stepsOf(progress: Progress): string {
  const arms = Object.entries(progress.arms).map(([name, arm]) => `${name} ${arm.phase} step ${arm.step}`);
  return `${arms.join(', ')}; ${progress.failedAttempts} attempts ended early`;
}

function handedBack(progress: Progress, from: number): Moment[] {
  return progress.attempts.map(({ at, stage, activity, step, type }) => ({
    at: (Date.parse(at) - from) / 1000,
    what: `${activity} of ${stage}${step === undefined ? '' : ` step ${step}`} handed back: ${type}${type === WORKER_SHUTDOWN ? ', no budget spent' : ''}`,
  }));
}

/** When the work that was handed back was taken up again. */
function cutShort(runs: readonly ActivityRun[], from: number, to: number): Moment[] {
  return runs
    .filter((run) => run.outcome === 'failed' && (run.closedAt ?? 0) >= from && (run.closedAt ?? 0) <= to + 1000)
    .flatMap((run) => {
      const next = runs.find(
        (other) =>
          other.workflowId === run.workflowId &&
          other.activity === run.activity &&
          other.scheduledAt >= (run.closedAt ?? Infinity) - 1 &&
          other.startedAt !== undefined
      );
      if (next?.startedAt === undefined) return [];
      const who = next.identity?.split('@')[0] ?? 'a worker';
      return [{ at: (next.startedAt - from) / 1000, what: `${next.activity} taken up again by process ${who}` }];
    });
}

function spent({ attempts }: Progress): string[] {
  return attempts
    .filter(({ type }) => type !== WORKER_SHUTDOWN)
    .map(({ activity, type, message }) => `${activity} spent budget of ${type}: ${message}`);
}

function differing(calm: string, deployed: string): string[] {
  const [expected, found] = [artifactHashes(join(calm)), artifactHashes(join(deployed))];
  return [...new Set([...Object.keys(expected), ...Object.keys(found)])]
    .sort()
    .filter((name) => expected[name] !== found[name])
    .map((name) => `${name} differs from the run without a deploy`);
}
