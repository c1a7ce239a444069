import type { Flavour, StepCounts } from '../types.js';

/**
 * Turn rows of a step, from the few lines in which the frameworks count them. What is not printed stays absent: the smoke gate
 * then says that it could not be verified.
 *
 * | line | framework | count |
 * | --- | --- | --- |
 * | `Prepared rollout batch B with K samples for transfer`, `Batch B transferred successfully for rollout_id: R` | Relax | transferred: K is the row count of the converted batch |
 * | `[MemAgent] C chunks -> T turns, …` (with MEM_DEBUG, which the smoke job sets) | VIME | generated: T summed over the step’s trajectories |
 * | `custom_convert: trimming expanded samples from A to B` | VIME | generated A, transferred B |
 * | `'train/global_batch_size'` of `step S` lines | both | consumed: summed over the step’s optimizer steps |
 *
 * A trajectory has two turns at least (one memory, one answer). A count below twice the trajectories therefore counts
 * trajectories, as frameworks without expansion do, and says nothing about rows.
 */
export class RowCounts {
  private readonly preparedBatches = new Map<string, number>();
  private readonly transferredBatches = new Map<number, Map<string, number>>();
  private readonly optimizerSteps = new Map<number, Map<number, number>>();
  private readonly trims = new Map<number, { from: number; to: number }>();
  private readonly generatedTurns = new Map<number, number>();
  private waiting = { turns: 0, trajectories: 0 };
  private waitingTrim: { from: number; to: number } | undefined;
  private current: number | undefined;

  /** @param trajectories trajectories of one step: prompts × group size */
  constructor(
    private readonly flavour: Flavour,
    private readonly trajectories: number
  ) {}

  /** @returns the step whose counts changed */
  line(line: string): number | undefined {
    return this.flavour === 'relax' ? this.relaxLine(line) : this.vimeLine(line);
  }

  /** The rollout of a step is over: what was counted since the last one belongs to it. */
  rolledOut(step: number): void {
    const isNew = !this.generatedTurns.has(step) && !this.trims.has(step);
    if (isNew && this.waiting.trajectories === this.trajectories) this.generatedTurns.set(step, this.waiting.turns);
    if (isNew && this.waitingTrim !== undefined) this.trims.set(step, this.waitingTrim);
    this.waiting = { turns: 0, trajectories: 0 };
    this.waitingTrim = undefined;
    this.current = step;
  }

  /** One optimizer step was taken over `rows` samples. */
  optimized(step: number, optimizerStep: number, rows: number): void {
    const known = this.optimizerSteps.get(step) ?? new Map<number, number>();
    this.optimizerSteps.set(step, known.set(optimizerStep, rows));
  }

  of(step: number): StepCounts {
    const trim = this.trims.get(step);
    const generated = trim?.from ?? this.generatedTurns.get(step);
    const transferred = trim?.to ?? this.asRows(sum(this.transferredBatches.get(step)));
    const consumed = this.asRows(sum(this.optimizerSteps.get(step)));
    return {
      ...(generated === undefined ? {} : { generated }),
      ...(transferred === undefined ? {} : { transferred }),
      ...(consumed === undefined ? {} : { consumed }),
      ...(trim === undefined ? {} : { trimmed: trim.from - trim.to }),
    };
  }

  private relaxLine(line: string): number | undefined {
    const prepared = /Prepared rollout batch (\d{1,9}) with (\d{1,9}) samples for transfer/.exec(line);
    if (prepared !== null) this.preparedBatches.set(prepared[1] as string, Number(prepared[2]));
    const sent = /Batch (\d{1,9}) transferred successfully for rollout_id: (\d{1,9})/.exec(line);
    if (sent === null) return undefined;
    const [batch, step] = [sent[1] as string, Number(sent[2])];
    const rows = this.preparedBatches.get(batch);
    const batches = this.transferredBatches.get(step) ?? new Map<string, number>();
    // A line that comes again counts nothing new.
    if (rows !== undefined && !batches.has(batch)) this.transferredBatches.set(step, batches.set(batch, rows));
    return step;
  }

  private vimeLine(line: string): number | undefined {
    const turns = /\[MemAgent\] \d{1,9} chunks -> (\d{1,9}) turns\b/.exec(line);
    if (turns !== null) {
      this.waiting = { turns: this.waiting.turns + Number(turns[1]), trajectories: this.waiting.trajectories + 1 };
      return undefined;
    }
    const trim = /custom_convert: trimming expanded samples from (\d{1,9}) to (\d{1,9})/.exec(line);
    if (trim === null) return undefined;
    const rows = { from: Number(trim[1]), to: Number(trim[2]) };
    // Conversion follows the rollout’s line, except where a version prints that line last.
    const isOfCurrent =
      this.current !== undefined && !this.trims.has(this.current) && !this.optimizerSteps.has(this.current);
    if (!isOfCurrent || this.current === undefined) {
      this.waitingTrim = rows;
      return undefined;
    }
    this.trims.set(this.current, rows);
    return this.current;
  }

  private asRows(count: number | undefined): number | undefined {
    return count !== undefined && count >= 2 * this.trajectories ? count : undefined;
  }
}

function sum(parts: ReadonlyMap<unknown, number> | undefined): number | undefined {
  return parts === undefined ? undefined : [...parts.values()].reduce((total, part) => total + part, 0);
}
