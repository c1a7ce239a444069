import { readFile } from 'node:fs/promises';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { Recipe } from '../../../shared/contracts/recipe.js';
import { entryPath } from '../../../shared/runtime/entry.js';
import { shellQuote } from '../launch/shell.js';
import type { Flavour, JobSpec } from '../types.js';

/** A file whose content is known. */
export interface ExpectedFile {
  name: string;
  bytes: number;
  sha256: string;
}

/** What a training job of an arm will find, if the cluster is as the recipe says. Paths are absolute. */
export interface PreflightFacts {
  modelDir: string;
  modelFiles: ExpectedFile[];
  trainData: ExpectedFile;
  saveDir: string;
  /** Written by us before the job; every node must read the same text. */
  marker: { path: string; text: string };
}

/** Port of Ray Serve, which Relax opens on the head. */
const SERVE_PORT = 8000;
/** Files of a checkout that the launch recipe names: not every commit has the example. */
const NEEDED: Readonly<Record<Flavour, readonly string[]>> = {
  relax: [
    'relax/entrypoints/train.py',
    ...['rollout', 'reward', 'convert'].map((name) => `examples/mem_agent/${name}.py`),
    'scripts/tools/convert_torch_dist_to_hf_bridge.py',
  ],
  vime: [
    'train.py',
    ...['rollout', 'custom_convert'].map((name) => `examples/mem_agent/${name}.py`),
    'tools/convert_torch_dist_to_hf_bridge.py',
  ],
};
/** The program comes with the job's environment: whether shared storage is seen is one of the questions. */
const RUNNER =
  'import base64, os; exec(compile(base64.b64decode(os.environ["MEMAGENT_PREFLIGHT_PROGRAM"]), "preflight.py", "exec"))';

/**
 * The job that looks at the cluster before an arm's first training job: framework commit, model and data, GPUs, disk, ports,
 * shared storage, on every node. Its output is read by `readPreflight`.
 */
export async function preflightJob(recipe: Recipe, arm: string, facts: PreflightFacts): Promise<JobSpec> {
  const { cluster } = recipe;
  const { flavour, path } = recipe.arms[arm] ?? {};
  if (cluster === undefined || flavour === undefined || path === undefined)
    throw new PipelineError('RecipeInvalid', `arm ${arm}: only an arm with a path on a cluster can be looked at`);
  const wanted = {
    checkout: { path, files: NEEDED[flavour] },
    model: { folder: facts.modelDir, files: facts.modelFiles.map(({ name }) => name) },
    data: { path: facts.trainData.name },
    marker: { path: facts.marker.path },
    disk: { path: facts.saveDir },
    gpus: cluster.gpuMemoryGiB > 0,
    ports: flavour === 'relax' ? [SERVE_PORT] : [],
  };
  const program = await readFile(entryPath('engines/ray/preflight/preflight.py'));
  return {
    entrypoint: `exec ${shellQuote(cluster.python)} -c ${shellQuote(RUNNER)}`,
    runtimeEnv: {
      env_vars: {
        MEMAGENT_PREFLIGHT: JSON.stringify(wanted),
        MEMAGENT_PREFLIGHT_PROGRAM: program.toString('base64'),
        PYTHONUNBUFFERED: '1',
      },
    },
    metadata: { 'memagent.recipe': recipe.name, 'memagent.arm': arm, 'memagent.phase': 'preflight' },
    files: [facts.marker],
  };
}
