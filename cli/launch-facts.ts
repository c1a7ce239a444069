import { join, resolve } from 'node:path';
import type { Phase } from '../shared/contracts/activities.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { UserError, EXIT } from '../shared/contracts/user-error.js';
import { memagentHome } from '../shared/temporal-binary/home.js';
import type { LaunchFacts } from '../engines/ray/types.js';

export interface LaunchOptions {
  arm?: string;
  phase: string;
  run?: string;
  model?: string;
  data?: string;
}

/** The arm that is meant: the one that is named, or the only one. */
export function chosenArm(recipe: Recipe, { arm }: LaunchOptions): string {
  const arms = Object.keys(recipe.arms);
  const [only] = arms;
  if (arm !== undefined) return arm;
  if (arms.length === 1 && only !== undefined) return only;
  throw new UserError('which arm is meant?', {
    cure: `Add --arm with one of ${arms.join(', ')}.`,
    exitCode: EXIT.usage,
  });
}

export function chosenPhase({ phase }: LaunchOptions): Phase {
  if (phase === 'train' || phase === 'smoke') return phase;
  throw new UserError(`--phase: expected train or smoke, found ${JSON.stringify(phase)}`, { exitCode: EXIT.usage });
}

/** The places a run of this recipe would use, where the options do not say other ones. */
export function launchFacts(recipe: Recipe, arm: string, phase: Phase, options: LaunchOptions): LaunchFacts {
  const run = resolve(options.run ?? join(recipe.artifacts, recipe.name));
  const place = join(run, 'arms', arm, ...(phase === 'smoke' ? ['smoke'] : []));
  const { path, id = recipe.name, revision = 'main' } = recipe.model;
  return {
    saveDir: join(place, 'checkpoints'),
    trainData: resolve(options.data ?? join(run, 'data', 'train.jsonl')),
    modelDir: resolve(
      options.model ?? path ?? join(memagentHome(), 'hub', `models--${id.replaceAll('/', '--')}`, revision)
    ),
    numRollout: phase === 'smoke' ? recipe.smoke.steps : recipe.grpo.steps,
    resume: undefined,
    dumpDir: join(place, 'job'),
  };
}
