import type { ArmResult, RunResult } from './results.js';

/** One goal of the study, measured. */
export interface Check {
  goal: string;
  /** What was measured, in words. */
  measured: string;
  met: boolean;
}

/** Everything that was measured; what was not run is absent. */
export interface StudyFacts {
  seeds: RunResult[];
  greedy: RunResult[];
  ablations: RunResult[];
  /** Mean reward of the frozen base on training tasks, by `grpo.seed`. */
  frozen: ReadonlyMap<number, number>;
}

/** A training that may not gain anything is allowed this much by chance. Unit: reward. */
const CHANCE = 0.05;

/** Holds the results against the goals; a goal whose runs are missing is left out. */
export function studyChecks(facts: StudyFacts): Check[] {
  return [
    ...seedChecks(facts),
    ...evaluationChecks('sampled evaluation', facts.seeds, 0.3, true),
    ...evaluationChecks('greedy evaluation', facts.greedy, 0.2, false),
    ...ablationChecks(facts),
  ];
}

function seedChecks({ seeds, frozen }: StudyFacts): Check[] {
  const arms = seeds.flatMap(({ arms: each }) => each);
  if (arms.length === 0) return [];
  const gains = seeds.flatMap(({ run, arms: each }) => {
    const base = frozen.get(run.seed);
    return base === undefined ? [] : each.map(({ last }) => last - base);
  });
  const unended = Math.max(...arms.map((arm) => arm.unended));
  const kl = Math.max(...arms.map((arm) => arm.kl));
  return [
    ...(gains.length === 0
      ? []
      : [atLeast('reward of the last ten steps above the frozen base’s by at least 0.4', gains, 0.4)]),
    { goal: 'responses that do not end: at most 1 %', measured: `${percent(unended)} at most`, met: unended <= 0.01 },
    { goal: 'KL at the end: at most 0.5', measured: `${kl.toFixed(3)} at most`, met: kl <= 0.5 },
  ];
}

function evaluationChecks(what: string, runs: readonly RunResult[], least: number, intervals: boolean): Check[] {
  const all = runs.flatMap(({ arms }) => arms.flatMap(({ comparisons }) => comparisons));
  if (all.length === 0) return [];
  const gains = all.map(({ base, trained }) => trained - base);
  const goal = `${what} above the base by at least ${least} at every length`;
  if (!intervals) return [atLeast(goal, gains, least)];
  const lowest = Math.min(...all.map(({ interval }) => interval?.low ?? -1));
  return [
    atLeast(goal, gains, least),
    {
      goal: `… and every paired interval excludes zero`,
      measured: `lowest bound ${signed(lowest)}`,
      met: lowest > 0,
    },
  ];
}

function ablationChecks({ ablations, frozen }: StudyFacts): Check[] {
  const find = (name: string): [number, ArmResult][] =>
    ablations.flatMap(({ run, arms }) => (run.name === name ? arms.map((arm) => [run.seed, arm] as const) : [])) as [
      number,
      ArmResult,
    ][];
  const shuffled = find('shuffled').flatMap(([seed, { last }]) => {
    const base = frozen.get(seed);
    if (base === undefined) return [];
    const measured = `${signed(last - base)} (${last.toFixed(3)} after ${base.toFixed(3)})`;
    return [{ goal: 'advantages shuffled: no gain', measured, met: last - base <= CHANCE }];
  });
  const emptied = find('no-memory').flatMap(([, { comparisons }]) =>
    comparisons.map(({ length, trained }) => ({
      goal: `memory emptied, ${length} chunks: no better than knowing the last chunk (${percent(1 / length)})`,
      measured: percent(trained),
      met: trained <= 1 / length + CHANCE,
    }))
  );
  return [...shuffled, ...emptied];
}

function atLeast(goal: string, values: readonly number[], least: number): Check {
  const lowest = Math.min(...values);
  return { goal, measured: `${signed(lowest)} at least, in ${values.length} cases`, met: lowest >= least };
}

/** Number with its sign and two digits. */
export function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;
}

/** Share as a percentage with one digit. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
