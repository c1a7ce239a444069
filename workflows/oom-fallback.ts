import type { FallbackRecord } from '../shared/contracts/progress.js';
import type { Recipe } from '../shared/contracts/recipe.js';

export type OomFallback = NonNullable<Recipe['oomFallback']>;

/**
 * What to note when a stage goes on with smaller settings.
 *
 * @param keys settings that matter to the stage
 * @returns undefined when the recipe declares none of them
 */
export function fallbackRecord(
  fallback: OomFallback | undefined,
  keys: readonly (keyof OomFallback)[],
  stage: string
): FallbackRecord | undefined {
  const settings = Object.fromEntries(
    keys.flatMap((key) => (fallback?.[key] === undefined ? [] : [[key, fallback[key]]]))
  ) as Record<string, number>;
  return Object.keys(settings).length === 0 ? undefined : { stage, at: new Date().toISOString(), settings };
}
