import { ApplicationFailure, CancellationScope } from '@temporalio/workflow';
import type { EvaluateArgs, EvaluateResult, RunHandle } from '../shared/contracts/activities.js';
import type { ArtifactRef } from '../shared/contracts/artifact.js';
import type { EvaluationProgress } from '../shared/contracts/progress.js';
import type { Placement } from '../shared/contracts/queues.js';
import { proxiesFor, type Limits, type Proxies } from './activity-proxies.js';
import { fallbackRecord, type OomFallback } from './oom-fallback.js';
import { ParentReporter } from './parent-reporter.js';
import { RetryLoop } from './retry-loop.js';
import { allOrFirstFailure } from './side-by-side.js';
import { stopServing } from './stop-serving.js';
import { round } from './thin.js';

export interface EvaluatedModel {
  /** `base` or an arm's name. */
  name: string;
  weights?: ArtifactRef;
}

export interface PairedEvaluationArgs {
  run: RunHandle;
  models: EvaluatedModel[];
  /** Data sets with their sizes, in the order they are evaluated. */
  datasets: { name: string; samples: number }[];
  placement: Placement;
  limits: Limits;
  /**
   * Models are evaluated one after the other: each gets a server of its own, and two servers would ask for the same GPUs.
   */
  oneAtATime?: true;
  /** Smaller settings for after OutOfMemory. */
  oomFallback?: OomFallback;
}

/** Key `<model>/<dataset>`. */
export type EvaluationResults = Record<string, EvaluateResult>;

/**
 * Every model on every data set, with the same server settings. Models run side by side as far as the evaluation workers'
 * slots allow, or one after the other; the data sets of one model follow each other on one server.
 */
export async function pairedEvaluation(args: PairedEvaluationArgs): Promise<EvaluationResults> {
  const reporter = new ParentReporter();
  const results: EvaluationResults = {};
  try {
    if (args.oneAtATime === true)
      for (const model of args.models) await evaluateOneModel(args, model, reporter, results);
    else await allOrFirstFailure(args.models.map((model) => () => evaluateOneModel(args, model, reporter, results)));
  } finally {
    if (reporter.hasAttempts) await CancellationScope.nonCancellable(() => reporter.send({}));
  }
  return results;
}

async function evaluateOneModel(
  args: PairedEvaluationArgs,
  model: EvaluatedModel,
  reporter: ParentReporter,
  results: EvaluationResults
): Promise<void> {
  const { evaluate } = proxiesFor(args.placement, args.limits);
  let { run } = args;
  const useFallback = (): boolean => {
    const record = fallbackRecord(args.oomFallback, ['evaluationConcurrency'], 'evaluate');
    if (record === undefined || run.fallback === true) return false;
    run = { ...run, fallback: true };
    reporter.fallback(record);
    return true;
  };
  const retry = new RetryLoop(
    (record) => reporter.attempt(record),
    useFallback,
    () => reporter.send({})
  );
  try {
    for (const dataset of args.datasets) {
      const key = `${model.name}/${dataset.name}`;
      const weights = model.weights === undefined ? {} : { weights: model.weights };
      const call = (): EvaluateArgs => ({ run, model: model.name, dataset: dataset.name, ...weights });
      const result = await evaluateWithBudget(retry, evaluate, key, call);
      retry.noteProgress();
      results[key] = result;
      await reporter.send({ evaluation: { key, progress: toProgress(result) } });
    }
  } finally {
    await stopServing(evaluate, args.run, model.name, args.oneAtATime === true ? 'started' : 'embedded');
  }
}

/** Request errors that outlast the budget do not fail the run: the verdict will say "not comparable" and why. */
async function evaluateWithBudget(
  retry: RetryLoop,
  evaluate: Proxies['evaluate'],
  key: string,
  args: () => EvaluateArgs
): Promise<EvaluateResult> {
  const run = (extra: Partial<EvaluateArgs>): Promise<EvaluateResult> =>
    retry.run({ stage: 'evaluate', activity: `evaluateModel ${key}` }, () =>
      evaluate.evaluateModel.executeWithOptions({ summary: `evaluate ${key}` }, [{ ...args(), ...extra }])
    );
  try {
    return await run({});
  } catch (error) {
    if (!(error instanceof ApplicationFailure) || error.type !== 'EvaluationIncomplete') throw error;
    return await run({ acceptErrors: true });
  }
}

function toProgress(result: EvaluateResult): EvaluationProgress {
  return {
    total: result.total,
    done: result.total,
    errors: result.errors,
    subEmPct: round(result.subEmPct, 2),
    boxedEmPct: round(result.boxedEmPct, 2),
  };
}
