import { hostname } from 'node:os';
import type { CostRecord, Spent } from '../../shared/cost/cost-record.js';
import type { ProgressReport } from '../progress-clock.js';
import type { Guard } from '../watchdog.js';
import { noteCost } from './cost-writer.js';
import { EngineCpu } from './engine-cpu.js';
import { gpusOf } from './gpus-of.js';
import { SharedCpu } from './shared-cpu.js';
import { isWork, stageOf, workOf, type WorkArgs } from './stage-of.js';

const workerCpu = new SharedCpu();

/** Tells attempts of a process from those of an earlier one with the same number. */
const session = Date.now().toString(36);
let attempts = 0;

/** A long attempt is noted when this share of its time is not yet on record. No unit. */
const UNNOTED_SHARE = 0.05;
const SHORTEST_NOTE_SECONDS = 2;

/**
 * Measures what one attempt of an activity takes: wall time, CPU time of this process and of the engine, GPUs held. It is
 * noted at the beginning, now and then, and at the end, so that an attempt that is lost with its worker is known too.
 */
export class AttemptMeter {
  private readonly id = `${session}-${(attempts += 1)}`;
  private readonly at = new Date().toISOString();
  private readonly total: Spent = { seconds: 0, workerCpu: 0, engineCpu: 0 };
  private readonly redone: Spent = { seconds: 0, workerCpu: 0, engineCpu: 0 };
  private readonly engines: EngineCpu[] = [];
  private gpus = 0;
  private last = performance.now();
  private noted = 0;
  private replaying = false;
  /** Measurements follow each other: the engine's time is read from files. */
  private tail: Promise<void> = Promise.resolve();

  private constructor(
    private readonly activity: string,
    private readonly args: WorkArgs
  ) {
    workerCpu.enter(this);
    void this.note('running');
  }

  /** @returns undefined for an activity that is no work of a run */
  static begin(activity: string, args: unknown): AttemptMeter | undefined {
    return isWork(args) ? new AttemptMeter(activity, args) : undefined;
  }

  /** From now on the time of the engine, and of the server that samples for it, counts too. */
  guard({ engineFolder, serverFolder, run }: Guard): void {
    this.gpus = gpusOf(this.activity, run.recipe);
    for (const folder of [engineFolder, serverFolder]) {
      if (folder === undefined || this.engines.some((engine) => engine.folder === folder)) continue;
      const engine = new EngineCpu(folder);
      this.engines.push(engine);
      // What it had spent before is not this attempt's.
      this.tail = this.tail.then(async () => void (await engine.take()));
    }
  }

  report(progress: ProgressReport): void {
    const replaying = progress['replayed'] === true;
    if (replaying === this.replaying) return;
    this.settle();
    this.replaying = replaying;
  }

  beat(): void {
    const unnoted = this.total.seconds + (performance.now() - this.last) / 1000 - this.noted;
    if (unnoted < Math.max(SHORTEST_NOTE_SECONDS, UNNOTED_SHARE * this.noted)) return;
    this.noted += unnoted;
    this.settle();
    void this.tail.then(() => this.note('running'));
  }

  async end(done: boolean): Promise<void> {
    this.settle();
    workerCpu.leave(this);
    await this.tail;
    await this.note(done ? 'done' : 'failed');
  }

  private settle(): void {
    const { replaying } = this;
    const engines = [...this.engines];
    const now = performance.now();
    const piece = { seconds: (now - this.last) / 1000, workerCpu: workerCpu.take(this) };
    this.last = now;
    this.tail = this.tail.then(async () => {
      const taken = await Promise.all(engines.map((engine) => engine.take()));
      const spent: Spent = { ...piece, engineCpu: taken.reduce((sum, seconds) => sum + seconds, 0) };
      for (const sums of replaying ? [this.total, this.redone] : [this.total]) {
        sums.seconds += spent.seconds;
        sums.workerCpu += spent.workerCpu;
        sums.engineCpu += spent.engineCpu;
      }
    });
  }

  private note(state: CostRecord['state']): Promise<void> {
    return noteCost(this.args.run, {
      id: this.id,
      stage: stageOf(this.activity, this.args),
      work: workOf(this.activity, this.args),
      host: hostname(),
      at: this.at,
      state,
      ...roundedSpent(this.total),
      gpus: this.gpus,
      redone: roundedSpent(this.redone),
    });
  }
}

function roundedSpent({ seconds, workerCpu: worker, engineCpu }: Spent): Spent {
  const round = (value: number): number => Number(value.toFixed(3));
  return { seconds: round(seconds), workerCpu: round(worker), engineCpu: round(engineCpu) };
}
