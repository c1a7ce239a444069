import { join } from 'node:path';
import type { Phase } from '../../../shared/contracts/activities.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { recipeHash } from '../../../shared/contracts/recipe-parse.js';
import type { Recipe } from '../../../shared/contracts/recipe.js';
import { TRACKER_FILE } from '../checkpoints.js';
import type { Flavour, JobFile, JobSpec, LaunchFacts } from '../types.js';
import type { Cluster } from './common-flags.js';
import { commandWords, type Flag } from './flag.js';
import { relaxConfig, relaxFlags } from './relax.js';
import { shellQuote } from './shell.js';
import { vimeEnvironment, vimeFlags } from './vime.js';

/** Where the references' images keep Megatron-LM; `cluster.env.PYTHONPATH` replaces it. */
const MEGATRON = '/root/Megatron-LM';
const PROGRAMS: Readonly<Record<Flavour, readonly string[]>> = {
  relax: ['-m', 'relax.entrypoints.train'],
  vime: ['train.py'],
};

/**
 * The job of one arm: command, environment and files, from the recipe alone and the places of this job. The same arguments give
 * the same job, byte for byte.
 *
 * @param arm name of the arm in the recipe
 * @throws PipelineError RecipeInvalid when the recipe has no such arm or asks for what the framework cannot do
 */
export function launchSpec(recipe: Recipe, arm: string, phase: Phase, facts: LaunchFacts): JobSpec {
  const { flavour, path, commit, cluster } = armOf(recipe, arm);
  const flags = launchFlags(recipe, arm, facts);
  const words = [cluster.python, ...PROGRAMS[flavour], ...commandWords(flags)];
  return {
    entrypoint: `cd ${shellQuote(path)} && exec ${words.map(shellQuote).join(' ')}`,
    runtimeEnv: { env_vars: environment(recipe, arm, phase) },
    metadata: {
      'memagent.recipe': recipe.name,
      'memagent.recipeHash': recipeHash(recipe),
      'memagent.arm': arm,
      'memagent.phase': phase,
      'memagent.commit': commit ?? '',
    },
    files: [...(flavour === 'relax' ? [relaxConfig(recipe, facts)] : []), ...trackerFile(facts)],
  };
}

/** The flags of an arm's command, in the order of the command line. */
export function launchFlags(recipe: Recipe, arm: string, facts: LaunchFacts): Flag[] {
  const { flavour, cluster } = armOf(recipe, arm);
  return flavour === 'relax' ? relaxFlags(recipe, cluster, facts) : vimeFlags(recipe, cluster, facts);
}

/** What of the recipe the arm's framework has no setting for: worth a word to whoever starts it. */
export function launchNotes(recipe: Recipe, arm: string): string[] {
  const { flavour } = armOf(recipe, arm);
  if (flavour !== 'vime') return [];
  const { enableThinking } = recipe.memory;
  return enableThinking === null
    ? []
    : [`arm ${arm}: VIME’s rollout has no setting for memory.enableThinking; its chat template’s own default applies`];
}

interface ArmFacts {
  flavour: Flavour;
  path: string;
  commit: string | undefined;
  cluster: Cluster;
}

function armOf(recipe: Recipe, name: string): ArmFacts {
  const arm = Object.hasOwn(recipe.arms, name) ? recipe.arms[name] : undefined;
  const { cluster } = recipe;
  const problems = [
    ...(arm === undefined ? [`arms: no arm is named “${name}”; known are ${Object.keys(recipe.arms).join(', ')}`] : []),
    ...(cluster === undefined ? ['cluster: missing: only a recipe with engine “ray” has jobs to launch'] : []),
    ...(arm !== undefined && arm.path === undefined ? [`arms.${name}.path: missing`] : []),
    ...(arm?.flavour === 'vime' && recipe.grpo.credit === 'share'
      ? [`grpo.credit: VIME always splits; “share” is not possible in arm ${name}`]
      : []),
    ...(cluster?.colocated === false
      ? ['cluster.colocated: the launch recipes know only jobs that share the GPUs']
      : []),
    ...(cluster !== undefined && cluster.staleness > 0 && arm?.flavour === 'vime'
      ? ['cluster.staleness: VIME trains on the newest weights only; expected 0']
      : []),
  ];
  if (arm?.path === undefined || cluster === undefined || problems.length > 0)
    throw new PipelineError('RecipeInvalid', `arm ${name} cannot be launched: ${problems.join('; ')}`, { problems });
  return { flavour: arm.flavour, path: arm.path, commit: arm.commit, cluster };
}

/** Both arms get the same; what the recipe's `cluster.env` names wins. */
function environment(recipe: Recipe, arm: string, phase: Phase): Record<string, string> {
  const { flavour, path, cluster } = armOf(recipe, arm);
  const master = new URL(cluster.address).hostname;
  const direct = [...new Set(['127.0.0.1', 'localhost', master])].join(',');
  const threads = { OMP_NUM_THREADS: '24', MKL_NUM_THREADS: '24', OPENBLAS_NUM_THREADS: '24' };
  const { PYTHONPATH = MEGATRON, ...own } = cluster.env;
  return {
    PYTHONUNBUFFERED: '1',
    PYTHONPATH: `${path}:${PYTHONPATH}`,
    CUDA_DEVICE_MAX_CONNECTIONS: '1',
    MASTER_ADDR: master,
    NO_PROXY: direct,
    no_proxy: direct,
    // Relax gives its own environment to ray.init; without this Ray refuses a second one.
    ...(flavour === 'relax' ? { RAY_OVERRIDE_JOB_RUNTIME_ENV: '1', ...threads } : {}),
    // A line that Ray folds into "repeated 3x" is a step that nobody reads.
    RAY_DEDUP_LOGS: '0',
    ...(flavour === 'vime' ? vimeEnvironment(recipe, path, phase) : {}),
    ...own,
  };
}

/** The framework loads the step that the tracker file names: it must be the one that was found complete. */
function trackerFile({ resume }: LaunchFacts): JobFile[] {
  return resume === undefined ? [] : [{ path: join(resume.dir, TRACKER_FILE), text: String(resume.step) }];
}
