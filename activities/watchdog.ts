import { Context } from '@temporalio/activity';
import { CHILD_REPORT_SIGNAL } from '../shared/contracts/progress.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import type { RunFiles } from './ports.js';
import { ProgressClock, type ProgressReport, type Stall, type WatchdogSettings } from './progress-clock.js';
import { stallEvidence } from './stall-evidence.js';

/** What a watchdog guards and how the work is ended. */
export interface Guard {
  run: RunFiles;
  /** Names the evidence's folder, e.g. `train-relax`. */
  name: string;
  /** Absolute folder of the engine's lease and log, when there is one. */
  engineFolder?: string;
  /** The same of a server that samples for the engine, when it has one. */
  serverFolder?: string;
  /** Limits by phase instead of the recipe's, for work that runs elsewhere. Unit: seconds. */
  limits?: Readonly<Record<string, number>>;
  /** Whether progress would be seen now. Time in which it would not says nothing about the work. Default: always. */
  sees?(): boolean;
  /** More for the record. */
  evidence?(): Promise<Record<string, unknown>>;
  /** Ends what does not get on, so that a repetition begins afresh. */
  stop(why: string): Promise<void>;
}

const LONGEST_LOOK_MS = 1_000;
/** An attempt is ended by us rather than by its time-out: then there is evidence. No unit. */
const SHARE_OF_TIMEOUT = 0.9;

/**
 * Looks at an activity's progress while its body runs. In mode `fail` a stall ends the body with `Stalled`; in mode `observe` it
 * is told to the pipeline and the work goes on. Evidence is saved before either.
 */
export class Watchdog {
  private readonly clock: ProgressClock;
  private readonly timer: NodeJS.Timeout;
  private acting = false;
  private isOver = false;
  private ending: Promise<void> | undefined;

  /**
   * @param timeoutMs start-to-close time-out of the attempt
   * @param fail ends the body
   */
  constructor(
    private readonly guard: Guard,
    timeoutMs: number,
    private readonly fail: (error: PipelineError) => void
  ) {
    const settings = settingsOf(guard);
    const ceiling = (SHARE_OF_TIMEOUT * timeoutMs) / 1000;
    const shortest = Math.min(ceiling, ...Object.values(settings.limits));
    const every = Math.min(LONGEST_LOOK_MS, (shortest * 1000) / 4);
    this.clock = new ProgressClock(settings, guard.run.path(guard.name), every, ceiling, performance.now());
    this.timer = setInterval(() => void this.look(), every);
  }

  take(report: ProgressReport): void {
    this.clock.take(report);
  }

  /**
   * Returns when what the watchdog began to end is ended: a repetition must not meet it.
   *
   * @param finished the body came to its end
   */
  async end(finished: boolean): Promise<void> {
    this.isOver = true;
    clearInterval(this.timer);
    if (finished) this.clock.finishPiece();
    await this.ending;
  }

  private async look(): Promise<void> {
    const stall = this.clock.look(performance.now(), this.guard.sees?.() ?? true);
    if (stall === undefined || this.acting) return;
    this.acting = true;
    try {
      const saved = await this.saveEvidence(stall);
      // The body came to its end meanwhile: there is nothing to give up any more.
      if (this.isOver) return;
      const what = `${this.guard.name}: no progress in phase ${stall.phase} for ${stall.seconds} s (limit ${stall.limit} s); ${saved}`;
      if (this.guard.run.recipe.watchdog.mode === 'observe') await this.tell(what);
      else await (this.ending = this.giveUp(what));
    } finally {
      this.acting = false;
    }
  }

  private async giveUp(what: string): Promise<void> {
    clearInterval(this.timer);
    // The body ends with the first failure it sees, which must be this one and not that of the stopped engine.
    this.fail(new PipelineError('Stalled', what));
    await this.guard.stop(what).catch(() => undefined);
  }

  private async saveEvidence(stall: Stall): Promise<string> {
    const { run, name } = this.guard;
    try {
      const seen = await stallEvidence(stall, this.clock.latest, this.guard);
      const evidence = { ...seen, ...(await this.guard.evidence?.()) };
      const path = await freePath(run, `evidence/${name}`);
      const { activityType, attempt } = Context.current().info;
      const origin = { stage: 'train', activity: activityType, attempt, inputs: [] } as const;
      await run.publish(path, `${JSON.stringify(evidence, null, 2)}\n`, 'log', { ...origin, inputs: [] });
      return `evidence is in ${run.path(path)}`;
    } catch (error) {
      return `evidence could not be saved: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  /** A pipeline that does not take the message has other troubles; the work goes on in any case. */
  private async tell(warning: string): Promise<void> {
    const { pipelineId } = this.guard.run.handle;
    try {
      const { client } = Context.current();
      await client.workflow.getHandle(pipelineId).signal(CHILD_REPORT_SIGNAL, { warning });
    } catch {
      // The evidence is on disk.
    }
  }
}

/** A limit of the guard's own has no first piece that may take longer: it says what it means. */
function settingsOf({ run, limits }: Guard): WatchdogSettings {
  const settings = run.recipe.watchdog;
  return limits === undefined ? settings : { mode: settings.mode, firstStepFactor: 1, limits };
}

async function freePath(run: RunFiles, folder: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const path = `${folder}/stall-${String(number).padStart(3, '0')}.json`;
    if ((await run.find(path)) === undefined) return path;
  }
}
