import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runProgram } from '../shared/temporal-binary/run-program.js';
import { GUARD_NAME } from '../shared/runtime/guarded-process.js';

/** A guard gives its program ten seconds; then it is gone, or something is wrong. Unit: milliseconds. */
const PATIENCE_MS = 15_000;
const POLL_MS = 200;

function pidFile(folder: string, name: string): string {
  return join(folder, `${name}.pid`);
}

/** Writes down which process group does what, for the next start after a crash of this process. */
export async function recordGroup(folder: string, name: string, group: number | undefined): Promise<void> {
  if (group === undefined) return;
  await mkdir(folder, { recursive: true });
  await writeFile(pidFile(folder, name), String(group));
}

/**
 * Processes of a stack whose owner was killed end by themselves within seconds, but until then they hold the database and the
 * engines: waits for them, and kills what does not end. Only for a caller that knows that the owner is gone.
 */
export async function endLeftovers(
  folder: string,
  names: readonly string[],
  notice: (text: string) => void
): Promise<void> {
  for (const name of names) {
    const group = Number(await readFile(pidFile(folder, name), 'utf8').catch(() => '0'));
    if (group > 1 && isGroupAlive(group)) {
      notice(`waiting for the ${name} of an interrupted stack to end`);
      await endGroup(group);
    }
    await rm(pidFile(folder, name), { force: true });
  }
}

function isGroupAlive(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function endGroup(group: number): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; isGroupAlive(group); await pause(POLL_MS)) {
    if (performance.now() < deadline) continue;
    // The number may belong to somebody else by now: only a guard of ours is killed.
    const leader = await runProgram('ps', ['-o', 'args=', '-p', String(group)], { timeoutMs: 5_000 });
    if (leader.output.includes(GUARD_NAME)) process.kill(-group, 'SIGKILL');
    return;
  }
}
