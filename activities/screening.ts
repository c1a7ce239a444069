import { SCREENING } from '../shared/artifacts/training-data.js';
import type { RunHandle, ScreenResult } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { SCREENING_SERVER } from '../shared/contracts/stages.js';
import { evaluateDataset } from '../shared/evaluation/evaluator.js';
import { screenPrompts, writeScreening, type ScreeningManifest } from '../shared/evaluation/screen-splits.js';
import type { StoredSummary } from '../shared/evaluation/types.js';
import { loadTokenizer } from '../shared/tokenizer/tokenizer.js';
import type { ActivityPorts, Origin, RunFiles } from './ports.js';
import { modelFolder } from './model-folder.js';
import { openRun } from './run-files.js';
import type { ActivityScope } from './scope.js';
import { serve } from './serving.js';
import { lookupFiles, recordFiles, screeningKeyParts, tokenizerName } from './stage-reuse.js';

type ScreeningSettings = NonNullable<Recipe['data']['screening']>;

/** Number of the tries within the sampler's key, apart from every training step and every evaluation. */
const DATASET_NUMBER = 0x2000_0000;

/**
 * Lets the base model try every training prompt several times and keeps the prompts that it solves sometimes. Tries that are
 * on disk are not made again.
 *
 * @throws PipelineError DataInvalid when fewer prompts are usable than the recipe wants; EvaluationIncomplete when tries still
 *   have request errors
 */
export async function screenData(
  args: { run: RunHandle },
  scope: ActivityScope,
  ports: ActivityPorts
): Promise<ScreenResult> {
  const run = await openRun(args.run);
  const settings = settingsOf(run);
  const parts = await screeningKeyParts(run);
  const outputs = [SCREENING.tries, SCREENING.summary, SCREENING.train, SCREENING.heldOut, SCREENING.manifest];
  if (await lookupFiles(run, 'screen', parts, outputs)) return await toResult(run, true);
  const summary = await tryPrompts(run, settings, parts.model, scope, ports);
  const screening = await screenPrompts({
    dataPath: run.path(SCREENING.source),
    triesPath: run.path(SCREENING.tries),
    summary,
    wish: { train: settings.train, heldOut: settings.heldOut, passes: rangeOf(settings) },
  });
  await writeScreening(screening, run.path(SCREENING.folder), run.path(SCREENING.manifest));
  await adoptFiles(run, scope);
  await recordFiles(run, 'screen', parts, outputs);
  return await toResult(run, false);
}

function settingsOf(run: RunFiles): ScreeningSettings {
  const { screening } = run.recipe.data;
  if (screening === undefined) throw new PipelineError('RecipeInvalid', 'the recipe has no data.screening');
  return screening;
}

function rangeOf({ minPasses, maxPasses, tries }: ScreeningSettings): { min: number; max: number } {
  return { min: minPasses, max: maxPasses ?? tries - 1 };
}

async function tryPrompts(
  run: RunFiles,
  settings: ScreeningSettings,
  weightsIdentity: string,
  scope: ActivityScope,
  ports: ActivityPorts
): Promise<StoredSummary> {
  const { evaluation, memory, ablation } = run.recipe;
  const modelDir = await modelFolder(run.recipe, ports.projectRoot, { signal: scope.signal });
  const { concurrency } = evaluation;
  const served = await serve(run, { name: SCREENING_SERVER, modelDir, concurrency }, scope, ports);
  const { candidates, tries, temperature, topP, seed } = settings;
  const { summary } = await evaluateDataset({
    dataPath: run.path(SCREENING.source),
    dataName: SCREENING.source,
    samplesPath: run.path(SCREENING.tries),
    summaryPath: run.path(SCREENING.summary),
    client: served.inference,
    tokenizer: await loadTokenizer(modelDir),
    modelName: 'base',
    weightsIdentity,
    tokenizerName: tokenizerName(run.recipe),
    limits: memory,
    enableThinking: memory.enableThinking,
    emptyMemory: ablation?.emptyMemory ?? false,
    temperature,
    topP,
    samplesPerItem: tries,
    ...(candidates === undefined ? {} : { items: candidates }),
    concurrency,
    seed,
    datasetNumber: DATASET_NUMBER,
    serverContext: evaluation.serverContext,
    expectedModelPath: modelDir,
    signal: scope.signal,
    onProgress: (progress) => scope.report({ phase: 'evaluate', model: 'base', dataset: 'screening', ...progress }),
  });
  if (summary.errors > 0)
    throw new PipelineError(
      'EvaluationIncomplete',
      `${summary.errors} of ${summary.total} tries still have request errors; the others are kept`,
      { where: run.path(SCREENING.tries), cure: 'Start the run again: only the failed tries are made again.' }
    );
  return summary;
}

async function adoptFiles(run: RunFiles, scope: ActivityScope): Promise<void> {
  const source = await run.expect(SCREENING.source);
  const origin: Origin = { stage: 'screen', activity: 'screenData', attempt: scope.attempt, inputs: [source] };
  const tries = await run.adopt(SCREENING.tries, 'evaluation-samples', origin);
  await run.adopt(SCREENING.summary, 'evaluation-summary', { ...origin, inputs: [tries] });
  const chosen = { ...origin, inputs: [source, tries] };
  await run.adopt(SCREENING.train, 'dataset', chosen);
  await run.adopt(SCREENING.heldOut, 'dataset', chosen);
  await run.adopt(SCREENING.manifest, 'data-manifest', chosen);
}

async function toResult(run: RunFiles, reused: boolean): Promise<ScreenResult> {
  const { candidates, usable, splits } = await run.readJson<ScreeningManifest>(SCREENING.manifest);
  return {
    manifest: await run.expect(SCREENING.manifest),
    train: await run.expect(SCREENING.train),
    candidates,
    usable,
    trainPrompts: splits.train.items.length,
    heldOutPrompts: splits.heldOut.items.length,
    reused,
  };
}
