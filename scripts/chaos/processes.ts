import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { entryPath } from '../../shared/runtime/entry.js';
import { TEMPORAL_CLI } from '../../shared/temporal-binary/binary-kinds.js';
import { findBinary } from '../../shared/temporal-binary/find-binary.js';
import { setUpNamespace } from '../../workers/namespace-setup.js';
import { searchAttributeArguments } from '../../workers/temporal-server.js';
import { connectClient, localTarget, targetEnvironment, type TemporalTarget } from '../../workers/temporal-target.js';

/** A program that is started again after it was killed. */
export class Victim {
  private child: ChildProcess | undefined;

  constructor(
    readonly name: string,
    private readonly command: string,
    private readonly args: readonly string[],
    private readonly env: NodeJS.ProcessEnv,
    private readonly logFile: string
  ) {}

  start(): void {
    const log = openSync(this.logFile, 'a');
    this.child = spawn(this.command, this.args, { detached: true, stdio: ['ignore', log, log], env: this.env });
  }

  /** Kills the whole process group with SIGKILL and waits for its end. */
  async kill(): Promise<void> {
    const { child } = this;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    process.kill(-child.pid, 'SIGKILL');
    await ended;
  }

  /** Asks it to end, as a deploy does. */
  async stop(): Promise<void> {
    const { child } = this;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }
}

export interface Stage {
  target: TemporalTarget;
  server: Victim;
  worker: Victim;
}

/** A file-backed Temporal server and one worker for every role, in a folder of their own. */
export async function setTheStage(folder: string, port: number, tag: string): Promise<Stage> {
  mkdirSync(folder, { recursive: true });
  const target = localTarget(`127.0.0.1:${port}`, 'default');
  const server = new Victim(
    'server',
    (await findBinary(TEMPORAL_CLI)).path,
    [
      'server',
      'start-dev',
      '--headless',
      '--port',
      String(port),
      '--db-filename',
      join(folder, 'temporal.db'),
      '--log-level',
      'error',
      ...searchAttributeArguments(),
    ],
    process.env,
    join(folder, 'server.log')
  );
  const worker = new Victim(
    'worker',
    process.execPath,
    [entryPath('cli/main.js'), 'worker', '--role', 'all', '--tag', tag],
    targetEnvironment(target),
    join(folder, 'worker.log')
  );
  server.start();
  await untilUp(target);
  await setUpNamespace(target);
  worker.start();
  return { target, server, worker };
}

/** Returns when the server takes calls. */
export async function untilUp(target: TemporalTarget, limitMs = 60_000): Promise<void> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    try {
      await (await connectClient(target)).close();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await pause(100);
    }
  }
}
