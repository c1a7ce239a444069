/** Writes recipes/recipe.schema.json, which editors use to complete and check recipes. */
import { join } from 'node:path';
import { writeFileAtomic } from '../shared/artifacts/atomic-file.js';
import { recipeJsonSchemaText } from '../shared/contracts/recipe-json-schema.js';
import { packageRoot } from '../shared/runtime/entry.js';

const path = join(packageRoot(), 'recipes', 'recipe.schema.json');
await writeFileAtomic(path, recipeJsonSchemaText());
console.log(path);
