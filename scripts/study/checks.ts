import { percent, signed } from '../../shared/report/format.js';
import { mean, type RunResult } from './results.js';

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
  /** Training with shuffled advantages, every seed that was run. */
  shuffled: RunResult[];
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
  const gains = gainsOf(seeds, frozen);
  const unended = Math.max(...arms.map((arm) => arm.unended));
  const kl = Math.max(...arms.map((arm) => arm.kl));
  return [
    ...(gains.length === 0
      ? []
      : [atLeast('reward of the last ten steps above the frozen base’s by at least 0.4', gains, 0.4)]),
    {
      goal: 'responses that do not end: at most 1 %',
      measured: `${percent(unended * 100)} at most`,
      met: unended <= 0.01,
    },
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
      measured: `lowest bound ${signed(lowest, 2)}`,
      met: lowest > 0,
    },
  ];
}

function ablationChecks({ ablations, shuffled, frozen }: StudyFacts): Check[] {
  const gains = gainsOf(shuffled, frozen);
  const emptied = ablations.filter(({ run }) => run.name === 'no-memory').flatMap(({ arms }) => arms);
  return [
    ...(gains.length === 0 ? [] : [noGain(gains)]),
    ...emptied.flatMap(({ comparisons }) =>
      comparisons.map(({ length, trained }) => ({
        goal: `memory emptied, ${length} chunks: no better than knowing the last chunk (${percent(100 / length)})`,
        measured: percent(trained * 100),
        met: trained <= 1 / length + CHANCE,
      }))
    ),
  ];
}

/** Reward of the last steps above the frozen base's, an entry an arm. */
export function gainsOf(runs: readonly RunResult[], frozen: StudyFacts['frozen']): number[] {
  return runs.flatMap(({ run, arms }) => {
    const base = frozen.get(run.seed);
    return base === undefined ? [] : arms.map(({ last }) => last - base);
  });
}

function noGain(gains: readonly number[]): Check {
  const each = gains.map((gain) => signed(gain, 2)).join(', ');
  const measured = `${signed(mean(gains), 2)} in the mean of ${gains.length} (${each})`;
  return { goal: 'advantages shuffled: no gain of reward', measured, met: mean(gains) <= CHANCE };
}

function atLeast(goal: string, values: readonly number[], least: number): Check {
  const lowest = Math.min(...values);
  return { goal, measured: `${signed(lowest, 2)} at least, in ${values.length} cases`, met: lowest >= least };
}
