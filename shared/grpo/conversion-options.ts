import type { Recipe } from '../contracts/recipe.js';
import type { ConvertOptions } from './rows.js';

/**
 * How the trajectories of an arm's step become training rows: what the conversion uses, and what its check derives again.
 *
 * @param step rollout id, from 0
 */
export function conversionOptions(recipe: Recipe, arm: string, step: number): ConvertOptions {
  const { grpo, memory, arms, ablation } = recipe;
  return {
    flavour: arms[arm]?.flavour ?? 'relax',
    groupSize: grpo.groupSize,
    stdNormalization: grpo.stdNormalization,
    rewardsNormalization: true,
    credit: grpo.credit,
    rowsMultiple: grpo.rowsMultiple,
    limits: memory,
    globalBatchSize: grpo.promptsPerStep * grpo.groupSize,
    ...(ablation?.shuffledAdvantages === true ? { shuffle: { seed: grpo.seed, step } } : {}),
  };
}
