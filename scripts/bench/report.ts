import { TASKS, type TaskName } from './workload.js';
import type { Share } from './profile.js';
import { type Spent, summary } from './rounds.js';
import type { MemoryFacts } from './memory.js';

/** Who was measured: the engine in each of its variants, and PyTorch where it was there. */
export type Contender = 'engine' | 'engine, 2 threads' | 'engine, fused' | 'pytorch';

export interface BenchFacts {
  machine: { processor: string; cores: number; node: string; load: number };
  versions: Record<string, string>;
  rounds: number;
  tokens: Record<TaskName, number>;
  runs: Partial<Record<Contender, Record<TaskName, Spent[]>>>;
  /** Why a contender is missing. */
  skipped: string[];
  /** Largest relative difference of the two sides' answers: the same work was done. */
  agreement: Partial<Record<TaskName, number>>;
  profile: { train: Share[]; sample: Share[] };
  memory: MemoryFacts | null;
}

const LABELS: Record<TaskName, string> = {
  train: 'training: forward, backward, AdamW',
  score: 'log-probs without gradients',
  prefill: 'prefill',
  sample: 'sampling, temperature 1',
  sample_top_p: 'sampling, temperature 0.7, top-p 0.95',
  step: 'whole GRPO step',
};

/** Ratio of a contender to a base by one kind of time: above 1 = faster than the base. */
export function ratio(facts: BenchFacts, task: TaskName, who: Contender, base: Contender, by: 'cpu' | 'wall'): number {
  const [a, b] = [facts.runs[who]?.[task], facts.runs[base]?.[task]];
  return a === undefined || b === undefined ? NaN : summary(b)[by] / summary(a)[by];
}

/** The result as a table for people. */
export function benchTable(facts: BenchFacts): string {
  const { machine, rounds, versions } = facts;
  const lines = [
    `${machine.processor}, ${machine.cores} cores, load ${machine.load.toFixed(1)}; Node ${machine.node}` +
      Object.entries(versions)
        .map(([name, version]) => `, ${name} ${version}`)
        .join(''),
    `medians of ${rounds} alternating rounds; one thread each unless said; thousand tokens a second of processor time (of the clock with 2 threads)`,
    '',
    row(['task', 'tokens', 'engine', 'pytorch', 'ratio', 'fused ×', '2 threads ×']),
    ...TASKS.map((task) => taskRow(facts, task)),
    ...facts.skipped.map((why) => `not run: ${why}`),
  ];
  for (const [task, difference] of Object.entries(facts.agreement))
    lines.push(`both sides agree on ${task}: relative difference ${difference.toExponential(1)}`);
  for (const [name, shares] of Object.entries(facts.profile))
    lines.push(
      '',
      `where the time of ${name} goes:`,
      ...shares.map(({ name: what, share }) => `  ${percent(share)}  ${what}`)
    );
  if (facts.memory !== null) lines.push('', memoryLine(facts.memory));
  return lines.join('\n');
}

function taskRow(facts: BenchFacts, task: TaskName): string {
  const rate = (who: Contender): string => {
    const runs = facts.runs[who]?.[task];
    return runs === undefined ? '–' : (facts.tokens[task] / summary(runs).cpu / 1000).toFixed(1);
  };
  const times = (value: number): string => (Number.isNaN(value) ? '–' : value.toFixed(2));
  return row([
    LABELS[task],
    String(facts.tokens[task]),
    rate('engine'),
    rate('pytorch'),
    times(ratio(facts, task, 'engine', 'pytorch', 'cpu')),
    times(ratio(facts, task, 'engine, fused', 'engine', 'cpu')),
    times(ratio(facts, task, 'engine, 2 threads', 'engine', 'wall')),
  ]);
}

function row(cells: readonly string[]): string {
  return cells.map((cell, column) => (column === 0 ? cell.padEnd(40) : cell.padStart(column > 4 ? 12 : 9))).join('');
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1).padStart(5)} %`;
}

function memoryLine({ steps, residentMiB, peakMiB }: MemoryFacts): string {
  const marks = residentMiB.map(({ step, mib }) => `${mib.toFixed(0)} (${step})`).join(', ');
  return `engine process over ${steps} training steps, resident MiB (after step): ${marks}; peak ${peakMiB.toFixed(0)}`;
}
