import type { z } from 'zod';
import type { recipeSchema } from './recipe-schema.js';

/** A recipe as a person writes it. Types only: safe to import from workflow code. */
export type RecipeInput = z.input<typeof recipeSchema>;

/** A recipe with every default filled in, as `recipe.json` of a run holds it. */
export type Recipe = Omit<z.output<typeof recipeSchema>, 'onHalt' | 'pauseAfter' | '$schema'> & {
  onHalt: 'wait' | 'fail';
  pauseAfter: string[];
};
