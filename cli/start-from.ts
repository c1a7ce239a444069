import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { runDirectory as directoryOf } from '../shared/artifacts/run-paths.js';
import { readStageKeys, writeForcedStages } from '../shared/artifacts/stage-keys.js';
import { nearestName } from '../shared/contracts/nearest-name.js';
import { readRecipeFile } from '../shared/contracts/recipe-parse.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { EXIT, UserError } from '../shared/contracts/user-error.js';
import { runDirectory } from './run-directory.js';

/** A run that is to be started from another one's recipe and results. */
export interface StartFrom {
  raw: unknown;
  recipe: Recipe;
  id: string;
  /** Stages of the other run whose results are taken over, each file verified by its hash. */
  takenOver: string[];
  /** Stages that are made anew although equal results are there. */
  anew: string[];
}

/** Stages with results that another run can take over, in order; conversion, verdict and report are made in every run. */
const KINDS = ['data', 'screen', 'smoke', 'train', 'evaluate'] as const;

/**
 * Reads the recipe of a run and says which of its results a new run shall not take over: those of `stage` and of every stage
 * after it. Needs the folder of runs at the same path as the workers.
 *
 * @param stage e.g. `train:relax`, or `train` for all arms; default: everything is taken over
 * @param id of the new run; default `<run>-from-<stage>`
 * @throws UserError when there is no such run or stage, or the new run is there already
 */
export async function prepareStartFrom(
  from: string,
  stage: string | undefined,
  id: string | undefined
): Promise<StartFrom> {
  const directory = runDirectory(from);
  const root = dirname(directory);
  const { recipe, raw } = await readRecipeFile(join(directory, 'recipe.json'));
  const anew = stage === undefined ? [] : stagesFrom(stage, recipe);
  const newId = id ?? `${basename(directory)}-from-${(stage ?? 'results').replaceAll(':', '-')}`;
  const target = directoryOf(root, newId);
  // A folder without a recipe is what a start left that the server refused: the run has not begun.
  if (existsSync(join(target, 'recipe.json')))
    throw new UserError(`there is a run ${newId} in ${root} already`, {
      cure: 'Give another name with --id, or start its own recipe to go on with it.',
      exitCode: EXIT.usage,
    });
  if (anew.length > 0 || existsSync(target)) await writeForcedStages(target, anew);
  const known = (await readStageKeys(directory)).map((key) => key.stage);
  const takenOver = known.filter((name) => !anew.includes(name) && !anew.includes(name.split(':')[0] as string));
  return { raw: { ...(raw as object), artifacts: root }, recipe, id: newId, takenOver, anew };
}

/** A stage and everything after it. @throws UserError that names the stages there are */
function stagesFrom(stage: string, recipe: Recipe): string[] {
  const [kind, arm] = stage.split(':') as [string, string?];
  const arms = Object.keys(recipe.arms).sort();
  const kinds = KINDS.filter((each) => each !== 'screen' || recipe.data.screening !== undefined);
  const names = [...kinds, ...['smoke', 'train'].flatMap((each) => arms.map((name) => `${each}:${name}`))];
  const at = (kinds as readonly string[]).indexOf(kind);
  if (!names.includes(stage)) {
    const near = nearestName(stage, names);
    throw new UserError(`no stage ${JSON.stringify(stage)}${near === undefined ? '' : `; did you mean “${near}”?`}`, {
      cure: `A run can start from ${names.join(', ')}.`,
      exitCode: EXIT.usage,
    });
  }
  if (arm === undefined) return kinds.slice(at);
  return kinds.slice(at).map((each) => (each === 'evaluate' ? each : `${each}:${arm}`));
}
