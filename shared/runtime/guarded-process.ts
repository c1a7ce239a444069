import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, renameSync } from 'node:fs';
import type { Socket } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * A shell between us and the program. The program and the shell form a process group of their own, so Ctrl-C at the terminal
 * reaches only us and we stop things in order. The shell reads a pipe that only we hold: when we are gone, however we died, the
 * pipe ends and the shell ends the program, and after a grace time whatever of its group is still there.
 */
const GUARD = `
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
{
  cat <&3 >/dev/null; kill -TERM "$child"; left=$GUARD_GRACE
  while [ "$left" -gt 0 ] && kill -0 "$child"; do sleep 1; left=$((left - 1)); done
  kill -KILL 0
} >/dev/null 2>&1 &
trap 'kill -TERM "$child" 2>/dev/null' TERM
wait "$child"; code=$?
while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
exit "$code"
`;

/** How a guard is called in the list of processes. */
export const GUARD_NAME = 'memagent-guard';

/** Seconds between asking and killing when the owner is gone. */
const ORPHAN_GRACE_SECONDS = '10';

export interface GuardedOptions {
  env: NodeJS.ProcessEnv;
  cwd?: string;
  /** Standard output and error go here; the file of the time before is kept as `<file>.1`. */
  logFile: string;
}

export interface GuardedProcess {
  /** Id of its process group; undefined when it could not be started. */
  readonly group: number | undefined;
  /** Settles when the program has ended: its exit code (128 + n after signal n). */
  readonly ended: Promise<number>;
  /** Undefined while it runs. */
  exitCode(): number | undefined;
  /** Asks it to stop, then kills its whole group after the grace time (milliseconds). Safe to call twice. */
  stop(graceMs: number): Promise<void>;
  /** From now on it does not keep this process from ending; it ends with this process all the same. */
  unref(): void;
}

/** Starts a program that never outlives this process. */
export function startGuarded(command: string, args: readonly string[], options: GuardedOptions): GuardedProcess {
  const log = openLog(options.logFile);
  const shell = spawn('/bin/sh', ['-c', GUARD, GUARD_NAME, command, ...args], {
    detached: true,
    stdio: ['pipe', log, log],
    cwd: options.cwd,
    env: { ...options.env, GUARD_GRACE: ORPHAN_GRACE_SECONDS },
  });
  closeSync(log);
  shell.stdin?.on('error', () => undefined);
  let code: number | undefined;
  const ended = waitForEnd(shell).then((value) => {
    code = value;
    // A guard that was killed leaves the program behind; one that ended by itself leaves its watcher.
    killGroup(shell, 'SIGKILL');
    shell.stdin?.destroy();
    return value;
  });
  const stop = async (graceMs: number): Promise<void> => {
    if (code !== undefined) return;
    shell.kill('SIGTERM');
    const over = new AbortController();
    const patience = pause(graceMs, undefined, { signal: over.signal }).then(
      () => killGroup(shell, 'SIGKILL'),
      () => undefined
    );
    await ended;
    over.abort();
    await patience;
  };
  const unref = (): void => {
    shell.unref();
    (shell.stdin as Socket | null)?.unref();
  };
  return { group: shell.pid, ended, exitCode: () => code, stop, unref };
}

async function waitForEnd(shell: ChildProcess): Promise<number> {
  try {
    const [code] = (await once(shell, 'exit')) as [number | null];
    return code ?? 137;
  } catch {
    return 127;
  }
}

function killGroup(shell: ChildProcess, signal: NodeJS.Signals): void {
  if (shell.pid === undefined) return;
  try {
    process.kill(-shell.pid, signal);
  } catch {
    // The group is gone.
  }
}

function openLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true });
  try {
    renameSync(path, `${path}.1`);
  } catch {
    // There is none yet.
  }
  return openSync(path, 'a');
}
