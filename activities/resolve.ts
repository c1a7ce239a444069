import { readFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { hashFile } from '../shared/artifacts/atomic-file.js';
import { canonicalJson, hashJson } from '../shared/contracts/canonical-json.js';
import type { ResolveResult } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { parseRecipe } from '../shared/contracts/recipe-parse.js';
import { loadTokenizer } from '../shared/tokenizer/tokenizer.js';
import { codeVersion } from './code-version.js';
import type { ActivityPorts } from './ports.js';
import { openRun, RECIPE_FILE } from './run-files.js';
import { modelFolder } from './model-folder.js';
import { ensureRunsFolder } from './runs-folder.js';
import type { ActivityScope } from './scope.js';

/** Files that make a model; the weights may be sharded, then the index stands for them. */
const MODEL_FILES = [
  'config.json',
  'generation_config.json',
  'model.safetensors',
  'model.safetensors.index.json',
  'tokenizer.json',
  'tokenizer_config.json',
];

/** A model file's identity, as `model.json` of a run holds it. */
export interface ModelFile {
  name: string;
  sha256: string;
  bytes: number;
}

/**
 * Checks a recipe as far as can be done before any work: fields, engine, model files (downloaded first where they are not
 * there), tokenizer against model, writable folder; makes the run's directory with `recipe.json` and `model.json`.
 *
 * @throws PipelineError RecipeInvalid or PinMismatch with every problem, StorageFailed when the run’s folder cannot be written
 */
export async function resolveRecipe(
  args: { pipelineId: string; recipe: unknown; attempt: number },
  ports: ActivityPorts,
  scope: Pick<ActivityScope, 'report' | 'signal'>
): Promise<ResolveResult> {
  const recipe = parseRecipe(args.recipe, 'the workflow argument');
  const folder = await modelFolder(recipe, ports.projectRoot, {
    signal: scope.signal,
    onProgress: (progress) => scope.report({ phase: 'download', ...progress }),
  });
  scope.report({ phase: 'resolve' });
  const files = await modelFiles(folder);
  await checkTokenizer(folder);
  const root = resolve(recipe.artifacts);
  await ensureRunsFolder(root);
  const text = `${canonicalJson(recipe)}\n`;
  const run = await openRun({ pipelineId: args.pipelineId, root, recipeSha256: '' }, recipe);
  await refuseOtherRecipe(run.path(RECIPE_FILE), text, args.pipelineId);
  const origin = { stage: 'data', activity: 'resolveRecipe', attempt: args.attempt, inputs: [] } as const;
  const ref = await run.publish(RECIPE_FILE, text, 'recipe', { ...origin, inputs: [] });
  await run.publish('model.json', `${JSON.stringify({ files }, null, 2)}\n`, 'source', { ...origin, inputs: [ref] });
  ports.log.info({ run: args.pipelineId, recipe: recipe.name, code: codeVersion('data') }, 'recipe resolved');
  return {
    run: { pipelineId: args.pipelineId, root, recipeSha256: ref.sha256 },
    recipe,
    recipeHash: hashJson(recipe),
    runDirectory: run.path('.'),
  };
}

/** Hashes of a model folder's files. @throws PipelineError PinMismatch naming what is missing */
export async function modelFiles(folder: string): Promise<ModelFile[]> {
  const files: ModelFile[] = [];
  for (const name of MODEL_FILES) {
    const path = join(folder, name);
    if (existsSync(path)) files.push({ name, ...(await hashFile(path)) });
  }
  const has = (name: string): boolean => files.some((file) => file.name === name);
  const problems = [
    ...(has('config.json') ? [] : ['config.json is missing']),
    ...(has('model.safetensors') || has('model.safetensors.index.json') ? [] : ['model.safetensors is missing']),
    ...(has('tokenizer.json') ? [] : ['tokenizer.json is missing']),
  ];
  if (problems.length > 0) {
    const cure = 'Set model.path to a folder with a Hugging Face model; the laptop model is made by `make base`.';
    throw new PipelineError('PinMismatch', `model folder ${folder}: ${problems.join(', ')}. ${cure}`, {
      problems,
      where: folder,
      cure,
    });
  }
  return files;
}

/** A tokenizer with ids beyond the model's embedding would only fail in the middle of a rollout. */
async function checkTokenizer(folder: string): Promise<void> {
  const tokenizer = await loadTokenizer(folder);
  const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as { vocab_size?: unknown };
  if (typeof config.vocab_size !== 'number' || tokenizer.vocabSize > config.vocab_size) {
    const message = `the tokenizer in ${folder} has ids up to ${tokenizer.vocabSize - 1}, the model’s vocabulary has ${String(config.vocab_size)} ids`;
    throw new PipelineError('PinMismatch', `${message}: they do not belong together`, {
      problems: [message],
      where: folder,
      cure: 'Take tokenizer.json and config.json from the same model revision.',
    });
  }
}

/** Two recipes in one directory would mix their results. */
async function refuseOtherRecipe(path: string, text: string, pipelineId: string): Promise<void> {
  const existing = await readFile(path, 'utf8').catch(() => undefined);
  if (existing === undefined || existing === text) return;
  const differing = differingKeys(JSON.parse(existing) as Recipe, JSON.parse(text) as Recipe);
  throw new PipelineError(
    'RecipeInvalid',
    `run ${pipelineId} already exists with another recipe (different: ${differing.join(', ')})`,
    {
      problems: differing.map((key) => `${key} differs from ${path}`),
      where: path,
      cure: 'Choose another workflow id, or start with the same recipe to go on with that run.',
    }
  );
}

function differingKeys(a: Recipe, b: Recipe): string[] {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<keyof Recipe>;
  return [...keys].filter((key) => canonicalJson(a[key]) !== canonicalJson(b[key])).sort();
}
