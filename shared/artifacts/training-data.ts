import type { Recipe } from '../contracts/recipe.js';

/** Converted training rows. */
const PREPARED = 'data/train.jsonl';

/** Files of a Pass@N screening, relative to the run. */
export const SCREENING = {
  folder: 'screening',
  /** Rows that are tried. */
  source: PREPARED,
  tries: 'screening/tries.jsonl',
  summary: 'screening/tries.summary.json',
  train: 'screening/train.jsonl',
  heldOut: 'screening/heldout.jsonl',
  manifest: 'screening/screening.json',
} as const;

/** The rows that a run trains on, relative to the run: the converted ones, or those that the screening chose of them. */
export function trainingData(recipe: Pick<Recipe, 'data'>): string {
  return recipe.data.screening === undefined ? PREPARED : SCREENING.train;
}
