import { setTimeout as pause } from 'node:timers/promises';
import type { GuardedProcess } from '../shared/runtime/guarded-process.js';

export interface SupervisorOptions {
  name: string;
  start: () => Promise<GuardedProcess>;
  /** Told about every end that was not asked for. */
  onEnd: (event: { name: string; code: number; restartInMs: number }) => void;
  /** Exit codes that no restart cures (wrong use). */
  fatalCodes: readonly number[];
  /** What to say then. */
  fatalError: (code: number) => Error;
  /** First pause before a restart; doubled with each, up to 32 times. Unit: milliseconds. */
  firstPauseMs?: number;
}

/** A process that ran this long was well: the next pause is short again. Unit: milliseconds. */
const WELL_AFTER_MS = 30_000;
const LONGEST_FACTOR = 32;

/** Keeps one process running: started again, with growing pauses, whenever it ends. */
export class Supervisor {
  private current: GuardedProcess | undefined;
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;
  private fail: (error: Error) => void = () => undefined;
  /** Rejects when a restart would not help; never resolves. */
  readonly failed = new Promise<never>((_, reject) => {
    this.fail = reject;
  });

  constructor(private readonly options: SupervisorOptions) {
    this.failed.catch(() => undefined);
  }

  /** Starts the process for the first time. @throws whatever `start` throws */
  async begin(): Promise<void> {
    this.current = await this.options.start();
    this.loop = this.keepRunning(this.current);
  }

  private async keepRunning(first: GuardedProcess): Promise<void> {
    let process: GuardedProcess | undefined = first;
    let factor = 1;
    while (!this.stopping.signal.aborted) {
      const startedAt = performance.now();
      const code: number = process === undefined ? 1 : await process.ended;
      if (this.stopping.signal.aborted) return;
      if (this.options.fatalCodes.includes(code)) return this.fail(this.options.fatalError(code));
      if (performance.now() - startedAt > WELL_AFTER_MS) factor = 1;
      const restartInMs = (this.options.firstPauseMs ?? 500) * factor;
      factor = Math.min(factor * 2, LONGEST_FACTOR);
      this.options.onEnd({ name: this.options.name, code, restartInMs });
      await pause(restartInMs, undefined, { signal: this.stopping.signal }).catch(() => undefined);
      if (this.stopping.signal.aborted) return;
      process = await this.options.start().catch(() => undefined);
      this.current = process;
      if (this.stopping.signal.aborted) await process?.stop(1_000);
    }
  }

  /** Stops the process and its restarts. @param graceMs - time between asking and killing, in milliseconds */
  async stop(graceMs: number): Promise<void> {
    this.stopping.abort();
    await this.current?.stop(graceMs);
    await this.loop;
  }
}
