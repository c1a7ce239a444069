import { TAG_PATTERN } from '../shared/contracts/queues.js';

/** Reads a member of the recipe before it was validated: anything may be there. */
export function rawMember(recipe: unknown, ...path: string[]): unknown {
  let value = recipe;
  for (const key of path) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
  }
  return value;
}

/** A tag of the not yet validated recipe, or the fallback when it is no tag. */
export function rawTag(recipe: unknown, fallback: string, ...path: string[]): string {
  const value = rawMember(recipe, ...path);
  return typeof value === 'string' && TAG_PATTERN.test(value) ? value : fallback;
}
