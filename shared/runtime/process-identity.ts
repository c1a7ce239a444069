import { readFileSync } from 'node:fs';

/** A process that is told apart from a later one with the same number. */
export interface ProcessIdentity {
  pid: number;
  /** Start time in clock ticks since boot; null where the system does not say. */
  start: number | null;
}

/** Field of `/proc/<pid>/stat` after the command's closing parenthesis that holds the start time (proc(5), field 22). */
const START_FIELD_AFTER_COMMAND = 19;

/** Field that holds the state; `Z` is a process that ended and was not yet collected. */
const STATE_FIELD_AFTER_COMMAND = 0;

function statFields(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command may hold spaces and parentheses: fields start after the last one.
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** Identity of a running process. Without `/proc` (macOS) the start time is unknown. */
export function identify(pid: number): ProcessIdentity {
  const start = statFields(pid)?.[START_FIELD_AFTER_COMMAND];
  return { pid, start: start === undefined ? null : Number(start) };
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
