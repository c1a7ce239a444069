import { setTimeout as delay } from 'node:timers/promises';
import { groupMembers } from '../../shared/runtime/process-group.js';
import { isAlive, isReused, type ProcessIdentity } from '../../shared/runtime/process-identity.js';

/** Time that an engine of ours needs at most to end in good order. Unit: milliseconds. */
export const KILL_AFTER_MS = 5_000;

/** A killed process may take a moment to go: its memory has to be given back. Unit: milliseconds. */
const GONE_MS = 10_000;

/**
 * Ends a process group: asks its processes, kills them after a grace time, and kills what a leader that has ended left behind.
 *
 * @param leader whose number is the group's; nothing is done when another process has its number now
 * @param graceMs milliseconds between asking and killing
 * @returns when no process of the group runs any more
 */
export async function killGroup(leader: ProcessIdentity, graceMs = KILL_AFTER_MS): Promise<void> {
  const { pid } = leader;
  // A number is not given away again while a group of that number is there.
  if (isReused(leader)) return;
  signalGroup(pid, 'SIGTERM');
  const deadline = performance.now() + graceMs;
  while (isAlive(leader)) {
    if (performance.now() > deadline) signalGroup(pid, 'SIGKILL');
    await delay(20);
  }
  await killRest(pid);
}

async function killRest(group: number): Promise<void> {
  const deadline = performance.now() + GONE_MS;
  while ((await groupMembers(group)).length > 0 && performance.now() < deadline) {
    signalGroup(group, 'SIGKILL');
    await delay(20);
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone already.
  }
}
