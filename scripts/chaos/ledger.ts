import { hostname } from 'node:os';
import type { Progress } from '../../shared/contracts/progress.js';
import type { ActivityRun } from './activity-history.js';
import type { FaultKind, Hit } from './faults.js';

/** A fault that was done. Times in milliseconds since 1970. */
export interface FaultRecord extends Hit {
  kind: FaultKind;
  from: number;
  to: number;
}

/** Faults against what history and the attempts table say. */
export interface Ledger {
  faults: AccountedFault[];
  /** Sentences; none when every kill and every failed attempt is accounted for. */
  problems: string[];
}

export interface AccountedFault extends FaultRecord {
  /** Attempts that failed because of it. */
  failed: ActivityRun[];
  /** Seconds from the fault to the start of the attempt that took over; absent when nothing had to be taken over. */
  takenOverSeconds?: number;
  /** Seconds from the fault to the first result of work that was handed out afterwards where it hit. */
  progressSeconds?: number;
}

/** Attempts that no budget counts: looks at the server, and the end of an engine. */
const UNCOUNTED = new Set(['inspectQueues', 'inspectServer', 'stopEngine', 'stopServing']);

/** After a fault's end: heartbeat time-outs, pauses before a repetition, an engine's start on a busy machine. Unit: milliseconds. */
const AFTERMATH_MS = 15_000;

/** Server and this process read one clock; events are stamped a little after what they tell. Unit: milliseconds. */
const STAMP_MS = 250;

/** Sets faults and history against each other. */
export function account(faults: readonly FaultRecord[], runs: readonly ActivityRun[], progress: Progress): Ledger {
  const failed = runs.filter((run) => run.outcome === 'failed' && !UNCOUNTED.has(run.activity));
  const accounted = faults.map((fault): AccountedFault => {
    const mine = failed.filter((run) => causeOf(run, faults) === fault);
    return { ...fault, failed: mine, ...takeOver(fault, mine, runs) };
  });
  const problems = [
    ...tableProblems(failed, progress),
    ...failed.filter((run) => causeOf(run, faults) === undefined).map(unexplained),
    ...faults.flatMap((fault) => finishedByTheDead(fault, runs)),
  ];
  return { faults: accounted, problems };
}

/** The last fault before an attempt ended that it was under way in, or that was over shortly before. */
function causeOf(run: ActivityRun, faults: readonly FaultRecord[]): FaultRecord | undefined {
  const closed = run.closedAt ?? Infinity;
  return faults.filter((fault) => fault.from <= closed && run.scheduledAt <= fault.to + AFTERMATH_MS).at(-1);
}

function tableProblems(failed: readonly ActivityRun[], progress: Progress): string[] {
  if (failed.length === progress.failedAttempts) return [];
  return [`the server's history has ${failed.length} failed attempts, the attempts table ${progress.failedAttempts}`];
}

function unexplained(run: ActivityRun): string {
  return `${run.activity} of ${run.workflowId} failed at ${new Date(run.closedAt ?? 0).toISOString()} without a fault`;
}

/** What a killed worker had in hand cannot have been finished by it. */
function finishedByTheDead(fault: FaultRecord, runs: readonly ActivityRun[]): string[] {
  if (fault.worker === undefined) return [];
  const identity = `${fault.worker}@${hostname()}`;
  return runs
    .filter((run) => run.identity === identity && run.outcome === 'completed')
    .filter((run) => (run.closedAt ?? 0) > fault.to + STAMP_MS)
    .map(
      (run) => `${run.activity} of ${run.workflowId} was finished by process ${fault.worker}, which was killed before`
    );
}

function takeOver(
  fault: FaultRecord,
  failed: readonly ActivityRun[],
  runs: readonly ActivityRun[]
): Pick<AccountedFault, 'takenOverSeconds' | 'progressSeconds'> {
  const hit = failed.filter((run) => (run.startedAt ?? Infinity) <= fault.to + STAMP_MS);
  const where = new Set(hit.map((run) => run.workflowId));
  const repeated = hit.flatMap((run) => {
    const next = runs.find(
      (other) =>
        other.workflowId === run.workflowId &&
        other.activity === run.activity &&
        other.scheduledAt > (run.closedAt ?? Infinity) - 1 &&
        other.startedAt !== undefined
    );
    return next?.startedAt === undefined ? [] : [next.startedAt];
  });
  const done = runs
    .filter((run) => run.outcome === 'completed' && !UNCOUNTED.has(run.activity))
    .filter((run) => (where.size === 0 || where.has(run.workflowId)) && run.scheduledAt > fault.from + STAMP_MS)
    .map((run) => run.closedAt as number);
  return {
    ...(repeated.length === 0 ? {} : { takenOverSeconds: (Math.max(...repeated) - fault.from) / 1000 }),
    ...(done.length === 0 ? {} : { progressSeconds: (Math.min(...done) - fault.from) / 1000 }),
  };
}
