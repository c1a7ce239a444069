import type { Recipe } from '../shared/contracts/recipe.js';

/** The recipe with the smaller settings of its `oomFallback` in place. */
export function withFallback(recipe: Recipe): Recipe {
  const { rolloutConcurrency, evaluationConcurrency, tokensPerGpu } = recipe.oomFallback ?? {};
  const { grpo, evaluation, cluster } = recipe;
  return {
    ...recipe,
    grpo: { ...grpo, rolloutConcurrency: rolloutConcurrency ?? grpo.rolloutConcurrency },
    evaluation: { ...evaluation, concurrency: evaluationConcurrency ?? evaluation.concurrency },
    ...(cluster === undefined ? {} : { cluster: { ...cluster, tokensPerGpu: tokensPerGpu ?? cluster.tokensPerGpu } }),
  };
}
