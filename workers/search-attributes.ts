import { SEARCH_ATTRIBUTES } from '../shared/contracts/activities.js';

/** Type of each of the package's search attributes, by the name it is registered with. */
export const SEARCH_ATTRIBUTE_TYPES: Readonly<Record<string, 'KEYWORD' | 'INT'>> = {
  [SEARCH_ATTRIBUTES.stage]: 'KEYWORD',
  [SEARCH_ATTRIBUTES.recipeHash]: 'KEYWORD',
  [SEARCH_ATTRIBUTES.globalStep]: 'INT',
  [SEARCH_ATTRIBUTES.lastFailureType]: 'KEYWORD',
  [SEARCH_ATTRIBUTES.arm]: 'KEYWORD',
};
