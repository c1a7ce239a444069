import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** A program that is started again after it was killed. */
export class Victim {
  private child: ChildProcess | undefined;
  /** Length of the log when it was started. */
  private logFrom = 0;

  constructor(
    readonly name: string,
    private readonly command: string,
    private readonly args: readonly string[],
    private readonly env: NodeJS.ProcessEnv,
    private readonly logFile: string
  ) {}

  /** @param extra - environment of this start alone */
  start(extra: NodeJS.ProcessEnv = {}): void {
    this.logFrom = existsSync(this.logFile) ? statSync(this.logFile).size : 0;
    const log = openSync(this.logFile, 'a');
    const env = { ...this.env, ...extra };
    this.child = spawn(this.command, this.args, { detached: true, stdio: ['ignore', log, log], env });
    closeSync(log);
  }

  /** Returns when its log says so since it was started, or it has ended. */
  async untilItSays(text: string): Promise<void> {
    while (this.pid !== undefined && !readFileSync(this.logFile).subarray(this.logFrom).includes(text)) await pause(50);
  }

  /** Id of the process and of its group; undefined when it does not run. */
  get pid(): number | undefined {
    const { child } = this;
    return child === undefined || child.exitCode !== null || child.signalCode !== null ? undefined : child.pid;
  }

  /** Kills the whole process group with SIGKILL and waits for its end. */
  async kill(): Promise<void> {
    await this.end(() => this.signalGroup('SIGKILL'));
  }

  /** Asks it to end, as a deploy does. */
  async stop(): Promise<void> {
    await this.end(() => this.child?.kill('SIGTERM'));
  }

  /** Freezes its process group until {@link resume}. */
  pause(): void {
    this.signalGroup('SIGSTOP');
  }

  resume(): void {
    this.signalGroup('SIGCONT');
  }

  private async end(how: () => void): Promise<void> {
    const { child, pid } = this;
    if (child === undefined || pid === undefined) return;
    const ended = once(child, 'exit');
    how();
    await ended;
  }

  private signalGroup(signal: NodeJS.Signals): void {
    if (this.pid !== undefined) process.kill(-this.pid, signal);
  }
}
