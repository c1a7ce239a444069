import type { Recipe } from '../contracts/recipe.js';
import type { ConvertOptions } from './rows.js';

/** How the trajectories of an arm become training rows: what the conversion uses, and what its check derives again. */
export function conversionOptions(recipe: Recipe, arm: string): ConvertOptions {
  const { grpo, memory, arms } = recipe;
  return {
    flavour: arms[arm]?.flavour ?? 'relax',
    groupSize: grpo.groupSize,
    stdNormalization: grpo.stdNormalization,
    rewardsNormalization: true,
    credit: grpo.credit,
    rowsMultiple: grpo.rowsMultiple,
    limits: memory,
    globalBatchSize: grpo.promptsPerStep * grpo.groupSize,
  };
}
