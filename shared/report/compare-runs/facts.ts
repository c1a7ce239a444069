import type { RewardSource } from '../../scoring/reward-source.js';
import type { RunData } from '../run-data.js';
import { differingFields, runLabels, type RecipeField } from './merge-runs.js';
import { costOf, type RunCost } from './run-cost.js';

/** The comparison of runs for machines. */
export interface ComparisonFacts {
  differences: RecipeField[];
  runs: {
    run: string;
    directory: string;
    outcome: string | null;
    cost: RunCost;
    rewards: Record<string, number[]>;
    /** What the rewards of each arm are means over. */
    rewardMeanOver: Record<string, RewardSource['mean_over']>;
    /** Percent by model and data set. */
    subEmPct: Record<string, Record<string, number>>;
  }[];
}

export function comparisonFacts(runs: readonly RunData[]): ComparisonFacts {
  const labels = runLabels(runs);
  return {
    differences: differingFields(runs),
    runs: runs.map((run, at) => {
      const subEmPct: Record<string, Record<string, number>> = {};
      for (const { model, dataset, summary } of run.evaluations)
        if (summary !== undefined) (subEmPct[model] ??= {})[dataset] = summary.sub_em_pct;
      return {
        run: labels[at] ?? '',
        directory: run.directory,
        outcome: run.verdict?.outcome ?? null,
        cost: costOf(run),
        rewards: Object.fromEntries(run.arms.map((arm) => [arm.name, arm.rewards.map(({ reward }) => reward)])),
        rewardMeanOver: Object.fromEntries(
          run.arms.map(({ name, rewardSource }) => [name, rewardSource?.mean_over ?? 'trajectories'])
        ),
        subEmPct,
      };
    }),
  };
}
