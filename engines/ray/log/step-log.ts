import { REWARD_METRIC } from '../../../shared/scoring/reward-log.js';
import { ROW_REWARD_METRIC } from '../../../shared/scoring/reward-source.js';
import type { Flavour, JobStep, LogProblem, StepLogReader } from '../types.js';
import { LineSplitter } from './line-splitter.js';
import { printedNumbers } from './metrics.js';
import { plainLine } from './plain-line.js';
import { RowCounts } from './row-counts.js';
import { stepLine, type StepLine } from './step-line.js';

/** Keys that hold a step's mean raw reward, the best first. Relax's row mean weighs long documents more: never taken. */
const REWARD_KEYS: Readonly<Record<Flavour, readonly string[]>> = {
  relax: [REWARD_METRIC],
  vime: [REWARD_METRIC, ROW_REWARD_METRIC],
};
/** Numbers of the optimizer that must be finite. */
const MUST_BE_FINITE = ['train/loss', 'train/pg_loss', 'train/kl_loss', 'train/grad_norm'];
const MOST_PROBLEMS = 100;
/** Longest excerpt of a line in a message. */
const EXCERPT = 160;

interface KnownReward {
  key: string;
  value: number;
}

/**
 * Reads what a job's log says of its steps. Only steps that are printed have a record; a reward printed twice with different
 * values, outside [0, 1], or not finite is a problem, and so is a loss that is not finite.
 */
export class StepLog implements StepLogReader {
  readonly records = new Map<number, JobStep>();
  readonly problems: LogProblem[] = [];
  private readonly lines = new LineSplitter((line) => this.line(plainLine(line)));
  private readonly rewards = new Map<number, Map<string, number>>();
  private readonly counts: RowCounts;
  private current: number | undefined;

  /** @param trajectories trajectories of one step: prompts × group size */
  constructor(
    private readonly flavour: Flavour,
    trajectories: number
  ) {
    this.counts = new RowCounts(flavour, trajectories);
  }

  push(text: string): void {
    this.lines.push(text);
  }

  end(): void {
    this.lines.end();
  }

  private line(line: string): void {
    const counted = this.counts.line(line);
    if (counted !== undefined) this.record(counted);
    const found = stepLine(line);
    if (found === undefined) return;
    const numbers = printedNumbers(found.payload);
    // A line that was cut says nothing; if its step is not printed again, the step's missing reward is the failure.
    if (numbers === undefined) return;
    if (found.kind === 'step') this.optimizerStep(found, numbers);
    else this.rolloutLine(found, numbers);
  }

  private rolloutLine({ kind, number: step }: StepLine, numbers: ReadonlyMap<string, number>): void {
    const isRollout = kind === 'perf' && [...numbers.keys()].some((key) => key.startsWith('rollout/'));
    if (isRollout) this.counts.rolledOut(step);
    this.current = step;
    for (const key of REWARD_KEYS[this.flavour]) {
      const reward = numbers.get(key);
      if (reward !== undefined) this.reward(step, { key, value: reward });
    }
    this.keep(step, numbers);
  }

  /**
   * Frameworks number optimizer steps as rollout id × optimizer steps of the rollout + place, and the factor can differ from
   * rollout to rollout: the step belongs to the rollout that was announced last.
   */
  private optimizerStep({ number }: StepLine, numbers: ReadonlyMap<string, number>): void {
    const step = this.current !== undefined && number >= this.current ? this.current : number;
    const rows = numbers.get('train/global_batch_size');
    if (rows !== undefined && Number.isFinite(rows)) this.counts.optimized(step, number, rows);
    for (const key of MUST_BE_FINITE) {
      const value = numbers.get(key);
      if (value === undefined || Number.isFinite(value)) continue;
      this.problem({ type: 'NonFiniteLoss', message: `step ${step}: ${key} is ${String(value)}` });
    }
    this.keep(step, numbers);
  }

  private reward(step: number, { key, value }: KnownReward): void {
    if (!(value >= 0 && value <= 1)) {
      this.problem({ type: 'DataInvalid', message: `step ${step}: ${key} is ${String(value)}, not between 0 and 1` });
      return;
    }
    const known = this.rewards.get(step) ?? new Map<string, number>();
    const before = known.get(key);
    if (before === undefined) this.rewards.set(step, known.set(key, value));
    else if (before !== value)
      this.problem({
        type: 'DataInvalid',
        message: `step ${step}: the log gives two values of ${key}, ${before} and ${value}`,
      });
  }

  private keep(step: number, numbers: ReadonlyMap<string, number>): void {
    const { metrics } = this.record(step);
    for (const [key, value] of numbers) if (Number.isFinite(value)) metrics[key.slice(0, EXCERPT)] = value;
    this.record(step);
  }

  /** The step's record with its counts and reward as they are known now. */
  private record(step: number): JobStep {
    const known = this.rewards.get(step);
    const key = REWARD_KEYS[this.flavour].find((name) => known?.has(name));
    const reward = key === undefined ? undefined : known?.get(key);
    const record: JobStep = {
      step,
      ...(reward === undefined ? {} : { reward }),
      metrics: this.records.get(step)?.metrics ?? {},
      counts: this.counts.of(step),
    };
    this.records.set(step, record);
    return record;
  }

  private problem(problem: LogProblem): void {
    const isKnown = this.problems.some(({ message }) => message === problem.message);
    if (!isKnown && this.problems.length < MOST_PROBLEMS) this.problems.push(problem);
  }
}
