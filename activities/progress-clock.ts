import type { Recipe } from '../shared/contracts/recipe.js';

/** As in a recipe, with the limits of any phases. */
export type WatchdogSettings = Omit<Recipe['watchdog'], 'limits'> & { limits: Readonly<Record<string, number>> };

/** A phase that did not get on within its limit. */
export interface Stall {
  phase: string;
  /** Seconds without progress that were really watched. */
  seconds: number;
  limit: number;
}

/** What an activity says of its work: its phase, and anything that changes when it gets on. */
export type ProgressReport = { phase: string } & Record<string, unknown>;

/** A look that comes this much later than planned was held up itself. No unit. */
const LATE = 2;

/** Phases of which a piece was finished in this process, by watched place: the first piece may take longer. */
const begun = new Set<string>();

/**
 * Measures how long an activity has been without progress. Only the reported phase and counters count: log lines and answers to
 * health checks are no progress. Only time that was watched counts: when this process was held up (stopped, a busy event loop,
 * a suspended machine), nothing is known about the work meanwhile, and not being able to look is not a stall.
 */
export class ProgressClock {
  private report: ProgressReport | undefined;
  private seen = '';
  private first = true;
  private seconds = 0;
  private lastLook: number;

  /**
   * @param place what is watched, e.g. an engine's folder
   * @param lookEvery planned time between looks, milliseconds
   * @param ceiling no limit is longer, seconds
   */
  constructor(
    private readonly settings: WatchdogSettings,
    private readonly place: string,
    private readonly lookEvery: number,
    private readonly ceiling: number,
    now: number
  ) {
    this.lastLook = now;
  }

  get latest(): ProgressReport | undefined {
    return this.report;
  }

  /** The work got on, if the report differs from the one before. */
  take(report: ProgressReport): void {
    const text = JSON.stringify(report);
    if (text === this.seen) return;
    this.finishPiece();
    this.report = report;
    this.seen = text;
    this.first = !begun.has(this.key(report.phase));
    this.seconds = 0;
  }

  /** A piece of the present phase is finished. */
  finishPiece(): void {
    if (this.report !== undefined) begun.add(this.key(this.report.phase));
  }

  /**
   * @param sees progress would have been seen since the last look
   * @returns the stall, once it is one
   */
  look(now: number, sees = true): Stall | undefined {
    if (sees) this.seconds += Math.min(now - this.lastLook, LATE * this.lookEvery) / 1000;
    this.lastLook = now;
    const limit = this.limit();
    if (limit === undefined || this.seconds < limit || this.report === undefined) return undefined;
    const stall = { phase: this.report.phase, seconds: Math.round(this.seconds * 10) / 10, limit };
    this.seconds = 0;
    return stall;
  }

  private limit(): number | undefined {
    const { limits, firstStepFactor } = this.settings;
    const phase = this.report?.phase ?? '';
    if (!Object.hasOwn(limits, phase)) return undefined;
    const limit = (limits[phase] ?? Infinity) * (this.first ? firstStepFactor : 1);
    return Math.min(limit, this.ceiling);
  }

  private key(phase: string): string {
    return `${this.place}\n${phase}`;
  }
}
