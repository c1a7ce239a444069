import { readFileSync } from 'node:fs';

/** A process that is told apart from a later one with the same number. */
export interface ProcessIdentity {
  pid: number;
  /** Start time in clock ticks since boot; null where the system does not say. */
  start: number | null;
}

/** Field of `/proc/<pid>/stat` after the command's closing parenthesis that holds the start time (proc(5), field 22). */
const START_FIELD_AFTER_COMMAND = 19;

/** Field that holds the state; `Z` is a process that ended and was not yet collected, `T` and `t` are stopped ones. */
const STATE_FIELD_AFTER_COMMAND = 0;

/** Fields that hold the user and system time of all of a process's threads (proc(5), fields 14 and 15). */
const TIME_FIELDS_AFTER_COMMAND = [11, 12] as const;

/** `USER_HZ`, the unit of times in `/proc`: 100 on every architecture that Node runs on. Unit: 1/s. */
const TICKS_PER_SECOND = 100;

function statFields(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command may hold spaces and parentheses: fields start after the last one.
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/**
 * Whether a process was stopped by a signal (SIGSTOP) or a debugger: it answers nothing, and SIGTERM does not reach it. False
 * where the system does not say.
 */
export function isStopped(identity: ProcessIdentity): boolean {
  const state = statFields(identity.pid)?.[STATE_FIELD_AFTER_COMMAND];
  return state === 'T' || state === 't';
}

/** Identity of a running process. Without `/proc` (macOS) the start time is unknown. */
export function identify(pid: number): ProcessIdentity {
  const start = statFields(pid)?.[START_FIELD_AFTER_COMMAND];
  return { pid, start: start === undefined ? null : Number(start) };
}

/** CPU time that a process has spent, seconds; undefined when it is gone, or the system does not say. */
export function cpuSeconds({ pid, start }: ProcessIdentity): number | undefined {
  const fields = statFields(pid);
  if (fields === undefined || Number(fields[START_FIELD_AFTER_COMMAND]) !== start) return undefined;
  return TIME_FIELDS_AFTER_COMMAND.reduce((sum, at) => sum + Number(fields[at]), 0) / TICKS_PER_SECOND;
}

/** Whether the very process still runs: same number and, where known, same start time. */
export function isAlive(identity: ProcessIdentity): boolean {
  try {
    process.kill(identity.pid, 0);
  } catch (error) {
    // EPERM: it runs, but under another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const fields = statFields(identity.pid);
  if (fields === undefined) return true;
  if (fields[STATE_FIELD_AFTER_COMMAND] === 'Z') return false;
  return identity.start === null || Number(fields[START_FIELD_AFTER_COMMAND]) === identity.start;
}

/** Whether another, later process has the number now. Never where the start time is unknown. */
export function isReused({ pid, start }: ProcessIdentity): boolean {
  const fields = statFields(pid);
  return start !== null && fields !== undefined && Number(fields[START_FIELD_AFTER_COMMAND]) !== start;
}
