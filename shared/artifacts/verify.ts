import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { PipelineError } from '../contracts/pipeline-error.js';
import type { Recipe } from '../contracts/recipe.js';
import { readManifest } from './manifest.js';
import { CheckBuilder, type VerifyCheck } from './verify/check.js';
import { verifyCheckpoints } from './verify/verify-checkpoints.js';
import { verifyEvaluations, verifyVerdict } from './verify/verify-evaluations.js';
import { verifyFiles, verifyManifest } from './verify/verify-files.js';
import { verifyScreening } from './verify/verify-screening.js';
import { verifySteps } from './verify/verify-steps.js';

export type { VerifyCheck } from './verify/check.js';

/** What an off-line check of a run found. */
export interface VerifyReport {
  /** Absolute path of the run. */
  directory: string;
  /** True when no check found a problem. */
  passed: boolean;
  checks: VerifyCheck[];
  /** What only its hash vouches for, one sentence each. */
  notDerived: readonly string[];
}

/** Nothing in a run's folder could give these again; a lie in them is found only by the hash that was taken when they were made. */
const NOT_DERIVED: readonly string[] = [
  'sampled tokens, their log-probabilities, memories and responses: the models would have to be run again',
  'KL, entropy, gradient norm and log-probability differences of each step: they need that step’s weights; what must hold of them whatever the weights is checked',
  'weights of checkpoints and converted models; of a framework’s own checkpoints only the sizes of their files are known',
  'times, attempts and cost: records of what happened',
];

/**
 * Checks a run's directory off-line: hashes of every file, then everything that follows from other files is computed again
 * and compared — rewards, rows, ledger and series from the trajectories, scores and summaries from the samples, the verdict
 * from those. All checks run, whatever the first ones find; parts that a stopped run does not have are not checked.
 *
 * @param onCheck called as each check ends, for progress
 * @throws PipelineError `DataInvalid` when the folder is no run's directory
 */
export async function verifyRun(directory: string, onCheck?: (check: VerifyCheck) => void): Promise<VerifyReport> {
  const absolute = resolve(directory);
  if (!existsSync(join(absolute, 'recipe.json'))) {
    throw new PipelineError(
      'DataInvalid',
      `${absolute} is not a run's directory: it has no recipe.json. Give the folder <root>/<pipeline id>.`,
      { where: absolute }
    );
  }
  const checks: VerifyCheck[] = [];
  const add = (check: VerifyCheck): void => {
    checks.push(check);
    onCheck?.(check);
  };
  for (const check of await hashChecks(absolute)) add(check);
  const recipe = await readRecipe(absolute);
  if (recipe instanceof CheckBuilder) add(recipe.done());
  else {
    for (const derive of [verifyScreening, verifySteps, verifyEvaluations, verifyVerdict])
      add(await derive(absolute, recipe));
  }
  return {
    directory: absolute,
    passed: checks.every(({ problemCount }) => problemCount === 0),
    checks,
    notDerived: NOT_DERIVED,
  };
}

async function hashChecks(directory: string): Promise<VerifyCheck[]> {
  try {
    const manifest = await readManifest(directory);
    return [
      await verifyManifest(directory, manifest),
      await verifyFiles(directory, manifest),
      await verifyCheckpoints(directory, manifest),
    ];
  } catch (error) {
    const check = new CheckBuilder('manifest', 'the manifest and the hashes of every file');
    check.problem(
      `${(error as Error).message} A run that did not come to its end has none; nothing vouches for its files.`
    );
    return [check.done()];
  }
}

async function readRecipe(directory: string): Promise<Recipe | CheckBuilder> {
  try {
    const recipe = JSON.parse(await readFile(join(directory, 'recipe.json'), 'utf8')) as Partial<Recipe>;
    if (recipe.arms !== undefined && recipe.grpo !== undefined && recipe.evaluation !== undefined)
      return recipe as Recipe;
  } catch {
    // Falls through: a recipe that is no JSON is as unusable as one without its parts.
  }
  const check = new CheckBuilder('recipe', 'the recipe');
  check.problem('recipe.json is not a whole recipe: nothing can be derived again.');
  return check;
}
