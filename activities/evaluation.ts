import type { EvaluateActivities, EvaluateArgs, EvaluateResult, RunHandle } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { evaluateDataset } from '../shared/evaluation/evaluator.js';
import type { EvaluationSummary } from '../shared/scoring/evaluation-types.js';
import { loadTokenizer } from '../shared/tokenizer/tokenizer.js';
import { evaluationPaths, hfPath } from './paths.js';
import type { ActivityPorts, Origin, RunFiles } from './ports.js';
import { modelFolder } from './model-folder.js';
import { openRun } from './run-files.js';
import { activity, type ActivityScope } from './scope.js';
import { screenData } from './screening.js';
import { serve, stopServing } from './serving.js';
import { evaluationKeyParts, lookupFiles, recordFiles, tokenizerName } from './stage-reuse.js';

export function evaluateActivities(ports: ActivityPorts): EvaluateActivities {
  return {
    screenData: activity((args: { run: RunHandle }, scope) => screenData(args, scope, ports)),
    evaluateModel: activity((args: EvaluateArgs, scope) => evaluateModel(args, scope, ports)),
    stopServing: activity(async (args: { run: RunHandle; model: string }) =>
      stopServing(await openRun(args.run), args.model)
    ),
  };
}

/** Number of the evaluation within the sampler's key, apart from every training step. */
function datasetNumber(dataset: string): number {
  const length = /^eval_(\d+)$/.exec(dataset)?.[1];
  return 0x4000_0000 + (length === undefined ? 0 : Number(length));
}

/**
 * One model on one data set through a real endpoint; samples that are already on disk are not asked for again.
 *
 * @throws PipelineError EvaluationIncomplete when request errors are left (unless they are accepted), PinMismatch before the
 *   first request when the server is not the one the recipe describes
 */
async function evaluateModel(args: EvaluateArgs, scope: ActivityScope, ports: ActivityPorts): Promise<EvaluateResult> {
  const startedAt = performance.now();
  const run = await openRun(args.run);
  const paths = evaluationPaths(args.model, args.dataset);
  const parts = await evaluationKeyParts(run, args);
  const reused = await lookupFiles(run, `evaluate:${args.model}/${args.dataset}`, parts, [
    paths.samples,
    paths.summary,
  ]);
  if (reused) return { ...(await toResult(run, args, true)), seconds: 0 };
  const folder =
    args.weights === undefined
      ? await modelFolder(run.recipe, ports.projectRoot, { signal: scope.signal })
      : run.path(hfPath(args.model));
  const { evaluation, memory, ablation } = run.recipe;
  const server = { name: args.model, modelDir: folder, concurrency: evaluation.concurrency };
  const served = await serve(run, server, scope, ports);
  const outcome = await evaluateDataset({
    dataPath: run.path(`data/${args.dataset}.jsonl`),
    dataName: `data/${args.dataset}.jsonl`,
    samplesPath: run.path(paths.samples),
    summaryPath: run.path(paths.summary),
    client: served.inference,
    tokenizer: await loadTokenizer(folder),
    modelName: args.model,
    // Other weights have the same name when a stage before is made again.
    weightsIdentity: parts.model,
    tokenizerName: tokenizerName(run.recipe),
    limits: memory,
    enableThinking: memory.enableThinking,
    emptyMemory: ablation?.emptyMemory ?? false,
    temperature: evaluation.temperature,
    topP: evaluation.topP,
    samplesPerItem: evaluation.samplesPerItem,
    concurrency: evaluation.concurrency,
    seed: evaluation.seed,
    datasetNumber: datasetNumber(args.dataset),
    serverContext: evaluation.serverContext,
    expectedModelPath: served.modelName,
    ...(served.vocabSize === undefined ? {} : { modelVocabSize: served.vocabSize }),
    ...(served.launch === undefined ? {} : { serverLaunch: served.launch }),
    signal: scope.signal,
    onProgress: (progress) =>
      scope.report({ phase: 'evaluate', model: args.model, dataset: args.dataset, ...progress }),
  });
  if (outcome.summary.errors > 0 && args.acceptErrors !== true) {
    throw new PipelineError(
      'EvaluationIncomplete',
      `${outcome.summary.errors} of ${outcome.summary.total} samples of ${args.model}/${args.dataset} still have request errors; the others are kept`,
      { where: run.path(paths.samples) }
    );
  }
  await adoptFiles(run, args, scope);
  if (outcome.summary.errors === 0)
    await recordFiles(run, `evaluate:${args.model}/${args.dataset}`, parts, [paths.samples, paths.summary]);
  return { ...(await toResult(run, args, false)), seconds: (performance.now() - startedAt) / 1000 };
}

async function adoptFiles(run: RunFiles, args: EvaluateArgs, scope: ActivityScope): Promise<void> {
  const paths = evaluationPaths(args.model, args.dataset);
  const data = await run.find(`data/${args.dataset}.jsonl`);
  const inputs = [...(data === undefined ? [] : [data]), ...(args.weights === undefined ? [] : [args.weights])];
  const origin: Origin = { stage: 'evaluate', activity: 'evaluateModel', attempt: scope.attempt, inputs };
  const samples = await run.adopt(paths.samples, 'evaluation-samples', origin);
  await run.adopt(paths.summary, 'evaluation-summary', { ...origin, inputs: [samples] });
}

async function toResult(run: RunFiles, args: EvaluateArgs, reused: boolean): Promise<Omit<EvaluateResult, 'seconds'>> {
  const paths = evaluationPaths(args.model, args.dataset);
  const summary = await run.readJson<EvaluationSummary>(paths.summary);
  const [summaryRef, samplesRef] = [await run.find(paths.summary), await run.find(paths.samples)];
  if (summaryRef === undefined || samplesRef === undefined)
    throw new PipelineError('StorageFailed', `evaluation files of ${args.model}/${args.dataset} vanished`);
  return {
    summary: summaryRef,
    samples: samplesRef,
    total: summary.total,
    successful: summary.successful,
    errors: summary.errors,
    subEmPct: summary.sub_em_pct,
    boxedEmPct: summary.boxed_em_pct,
    f1Pct: summary.f1_pct,
    emPct: summary.em_pct,
    contextsTruncated: summary.contexts_truncated,
    reused,
  };
}
