import { readFile } from 'node:fs/promises';
import { canonicalJson, hashJson } from './canonical-json.js';
import { parseJsonText } from './json-text.js';
import { PipelineError } from './pipeline-error.js';
import { schemaProblems } from './recipe-problems.js';
import { ruleProblems } from './recipe-rules.js';
import { recipeSchema } from './recipe-schema.js';
import type { Recipe } from './recipe.js';

/** Larger files are no recipes: refuse them before they are read into memory. Unit: bytes. */
const LARGEST_RECIPE = 1024 * 1024;

/**
 * Checks a recipe and fills in every default.
 *
 * @param where - where it came from, for the message: a file's name or “the workflow argument”
 * @returns the normalized recipe: all defaults present, `onHalt` decided by the engine, `pauseAfter` a list, `$schema` dropped,
 * `data.screening.maxPasses` one less than its tries
 * @throws PipelineError RecipeInvalid whose `details.problems` names every wrong field
 */
export function parseRecipe(value: unknown, where: string): Recipe {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notAnObject(value, where);
  const parsed = recipeSchema.safeParse(value);
  const problems = [...(parsed.success ? [] : schemaProblems(value, parsed.error.issues)), ...ruleProblems(value)];
  if (!parsed.success || problems.length > 0) throw invalid(where, [...new Set(problems)]);
  const { $schema: _, onHalt, pauseAfter, data, ...rest } = parsed.data;
  const { screening } = data;
  const maxPasses = screening === undefined ? 0 : (screening.maxPasses ?? screening.tries - 1);
  return {
    ...rest,
    data: screening === undefined ? data : { ...data, screening: { ...screening, maxPasses } },
    onHalt: onHalt ?? (rest.engine === 'ray' ? 'wait' : 'fail'),
    pauseAfter: typeof pauseAfter === 'string' ? [pauseAfter] : pauseAfter,
  };
}

/**
 * Reads a recipe file. The raw value is what a workflow is started with (the first activity parses it again).
 *
 * @throws PipelineError RecipeInvalid: no such file, not JSON (line, column, cure), or wrong fields
 */
export async function readRecipeFile(path: string): Promise<{ recipe: Recipe; raw: unknown }> {
  const raw = parseJsonText(await readText(path), path);
  return { recipe: parseRecipe(raw, path), raw };
}

/** SHA-256 (hex) of the normalized recipe: equal for recipes that mean the same. */
export function recipeHash(recipe: Recipe): string {
  return hashJson(recipe);
}

/** The normalized recipe as bytes: keys sorted, one line, as `recipe.json` of a run holds it. */
export function canonicalRecipe(recipe: Recipe): string {
  return `${canonicalJson(recipe)}\n`;
}

function notAnObject(value: unknown, where: string): PipelineError {
  const kind = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
  // `temporal workflow start --input '"recipes/laptop.json"'` is the usual way to get here.
  const cure = 'Give the content of a recipe file, e.g. `--input-file recipes/laptop.json`.';
  return new PipelineError('RecipeInvalid', `${where}: a recipe is a JSON object, found ${kind}. ${cure}`, {
    problems: [`recipe: expected an object, found ${kind}`],
    where,
    cure,
  });
}

function invalid(where: string, problems: string[]): PipelineError {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  const list = problems.map((problem) => `\n  - ${problem}`).join('');
  return new PipelineError('RecipeInvalid', `${where}: ${count} in the recipe:${list}`, {
    problems,
    where,
    cure: 'Correct every field listed; `memagent recipe schema` describes all of them.',
  });
}

async function readText(path: string): Promise<string> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(path, error);
  });
  if (bytes.byteLength > LARGEST_RECIPE)
    throw fileProblem(path, `has ${bytes.byteLength} bytes: too large for a recipe`, 'Name a recipe file.');
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff))
    throw fileProblem(path, 'is UTF-16 (it starts with a byte order mark)', 'Save it as UTF-8 without BOM.');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw fileProblem(path, 'is not UTF-8', 'Save it as UTF-8 without BOM.');
  }
}

function unreadable(path: string, error: NodeJS.ErrnoException): PipelineError {
  if (error.code === 'ENOENT')
    return fileProblem(path, 'does not exist', 'Check the path; the shipped recipes are in the folder `recipes`.');
  if (error.code === 'EISDIR') return fileProblem(path, 'is a folder', 'Name a recipe file inside it.');
  if (error.code === 'EACCES') return fileProblem(path, 'may not be read', 'Give yourself read permission.');
  return fileProblem(path, `cannot be read (${error.code ?? error.message})`, 'Check the file and its disk.');
}

function fileProblem(path: string, what: string, cure: string): PipelineError {
  return new PipelineError('RecipeInvalid', `${path} ${what}. ${cure}`, {
    problems: [`the file ${what}`],
    where: path,
    cure,
  });
}
