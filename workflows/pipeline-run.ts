import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowCancellationType,
  executeChild,
  isCancellation,
  ParentClosePolicy,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type {
  CloseArmResult,
  ConvertCheckpointResult,
  PreparedData,
  ResolveResult,
  RunHandle,
} from '../shared/contracts/activities.js';
import type { Decision, StageState } from '../shared/contracts/progress.js';
import { activityTaskQueue, LOCAL_TAG, TAG_PATTERN, type Role } from '../shared/contracts/queues.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { proxiesFor, resolveProxy, type Proxies } from './activity-proxies.js';
import { FAILURES } from '../shared/contracts/failures.js';
import { classifyFailure, toWorkflowFailure } from './classify-failure.js';
import { currentDetails } from './current-details.js';
import { grpoRun } from './grpo-run.js';
import { HaltDesk } from './halt.js';
import { childReportSignal, decideUpdate, progressQuery, type ChildReport } from './messages.js';
import { pairedEvaluation, type EvaluatedModel } from './paired-evaluation.js';
import type { PipelineResult } from './pipeline.js';
import { ProgressState } from './progress-state.js';
import { watchQueues } from './queue-watch.js';
import { RetryLoop } from './retry-loop.js';
import { SearchAttributes } from './search-attributes.js';

/** Children clean up (stop engines) before the parent ends, and are cancelled, not killed, when the parent is terminated. */
const CHILD_OPTIONS = {
  cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
  parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
} as const;

/** Reads a member of the not yet validated recipe. */
function rawMember(recipe: unknown, ...path: string[]): unknown {
  let value = recipe;
  for (const key of path)
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
  return value;
}

function rawText(recipe: unknown, fallback: string, ...path: string[]): string {
  const value = rawMember(recipe, ...path);
  return typeof value === 'string' && TAG_PATTERN.test(value) ? value : fallback;
}

/** One execution of the chain. */
export class Pipeline {
  private readonly progress: ProgressState;
  private readonly desk: HaltDesk;
  private readonly retry: RetryLoop;
  private readonly attributes = new SearchAttributes();
  private readonly dataTag: string;
  private recipe: Recipe | undefined;

  constructor(
    private readonly pipelineId: string,
    private readonly rawRecipe: unknown
  ) {
    const name = rawMember(rawRecipe, 'name');
    this.progress = new ProgressState(pipelineId, typeof name === 'string' ? name.slice(0, 63) : 'unnamed', () =>
      new Date().toISOString()
    );
    this.desk = new HaltDesk(this.progress);
    this.retry = new RetryLoop((record) => {
      this.progress.addAttempt(record);
      this.show();
    });
    this.dataTag = rawText(rawRecipe, LOCAL_TAG, 'placement', 'data');
    setHandler(progressQuery, () => this.progress.value, {
      description: 'Stages, steps, rewards, counts, attempts and artifacts.',
    });
    setHandler(childReportSignal, (report) => this.take(report));
    setHandler(decideUpdate, (decision: Decision) => this.desk.decide(decision), {
      validator: (decision: Decision) => this.desk.validate(decision),
      description: 'Decide about a halted pipeline: {"action": "retry" | "abort", "note"?}.',
    });
  }

  async execute(): Promise<PipelineResult> {
    try {
      return await this.chain();
    } catch (error) {
      const cancelled = isCancellation(error);
      this.progress.setState(cancelled ? 'cancelled' : 'failed');
      this.show();
      if (cancelled || error instanceof ApplicationFailure) throw error;
      throw toWorkflowFailure(classifyFailure(error));
    }
  }

  private async chain(): Promise<PipelineResult> {
    await this.attributes.inspect();
    const resolved = await this.resolve();
    const { run, recipe } = resolved;
    const proxies = proxiesFor(recipe.placement, recipe.limits);
    this.declareStages(recipe);
    this.show();
    const data = await this.stage(
      'data',
      ['data'],
      () => this.activity('data', 'prepareData', () => proxies.data.prepareData({ run })),
      (value) => value.reused
    );
    this.progress.addArtifacts(data.manifest);
    const models = await this.runArms(run, recipe, proxies);
    await this.evaluate(run, recipe, data, models);
    return await this.conclude(resolved, proxies, data, models);
  }

  private async resolve(): Promise<ResolveResult> {
    this.progress.declareStage('resolve', activityTaskQueue('data', this.dataTag));
    const resolved = await this.stage('resolve', ['data'], () =>
      this.activity('resolve', 'resolveRecipe', () =>
        resolveProxy(this.dataTag).resolveRecipe({ pipelineId: this.pipelineId, recipe: this.rawRecipe })
      )
    );
    this.recipe = resolved.recipe;
    Object.assign(this.progress.value, { recipeHash: resolved.recipeHash, runDirectory: resolved.runDirectory });
    this.attributes.set('recipeHash', resolved.recipeHash);
    return resolved;
  }

  private declareStages(recipe: Recipe): void {
    const queue = (role: Role): string => activityTaskQueue(role, recipe.placement[role]);
    this.progress.declareStage('data', queue('data'));
    for (const arm of Object.keys(recipe.arms).sort()) {
      this.progress.declareStage(`smoke:${arm}`, queue('train'));
      this.progress.declareStage(`train:${arm}`, queue('train'));
      this.progress.declareStage(`convert:${arm}`, queue('convert'));
    }
    this.progress.declareStage('evaluate', queue('evaluate'));
    this.progress.declareStage('judge', queue('data'));
    this.progress.declareStage('report', queue('data'));
  }

  private async runArms(run: RunHandle, recipe: Recipe, proxies: Proxies): Promise<EvaluatedModel[]> {
    const arms = Object.keys(recipe.arms).sort();
    const models: EvaluatedModel[] = [{ name: 'base' }];
    const oneArm = async (arm: string): Promise<EvaluatedModel> => {
      const converted = await this.runArm(run, recipe, proxies, arm);
      return { name: arm, weights: converted.model };
    };
    if (recipe.limits.parallelArms) models.push(...(await allOrFirstFailure(arms.map((arm) => () => oneArm(arm)))));
    else for (const arm of arms) models.push(await oneArm(arm));
    return models;
  }

  private async runArm(
    run: RunHandle,
    recipe: Recipe,
    proxies: Proxies,
    arm: string
  ): Promise<ConvertCheckpointResult> {
    await this.training(run, recipe, arm, 'smoke', recipe.smoke.steps);
    const trained = await this.training(run, recipe, arm, 'train', recipe.grpo.steps);
    const name = `convert:${arm}`;
    return await this.stage(
      name,
      ['convert'],
      () =>
        this.activity(name, 'convertCheckpoint', () =>
          proxies.convert.convertCheckpoint({ run, arm, checkpoint: trained.checkpoint })
        ),
      (value) => value.reused
    );
  }

  private async training(
    run: RunHandle,
    recipe: Recipe,
    arm: string,
    phase: 'smoke' | 'train',
    totalSteps: number
  ): Promise<CloseArmResult> {
    const name = `${phase}:${arm}`;
    this.attributes.set('stage', name);
    const closed = await this.stage(name, ['data', 'rollout', 'train'], () =>
      executeChild(grpoRun, {
        ...CHILD_OPTIONS,
        workflowId: `${this.pipelineId}/${phase}-${arm}`,
        staticSummary: `${phase} run of arm ${arm}, ${totalSteps} steps`,
        args: [
          {
            run,
            arm,
            phase,
            totalSteps,
            checkpointEvery: recipe.grpo.checkpointEvery,
            placement: recipe.placement,
            limits: recipe.limits,
          },
        ],
      })
    );
    this.progress.addArtifacts(...closed.artifacts);
    return closed;
  }

  private async evaluate(run: RunHandle, recipe: Recipe, data: PreparedData, models: EvaluatedModel[]): Promise<void> {
    this.attributes.set('stage', 'evaluate');
    const datasets = Object.entries(data.evaluation).map(([name, facts]) => ({
      name,
      samples: facts.rows * recipe.evaluation.samplesPerItem,
    }));
    for (const model of models) {
      for (const dataset of datasets) {
        this.progress.value.evaluations[`${model.name}/${dataset.name}`] = {
          total: dataset.samples,
          done: 0,
          errors: 0,
        };
      }
    }
    const results = await this.stage(
      'evaluate',
      ['evaluate'],
      () =>
        executeChild(pairedEvaluation, {
          ...CHILD_OPTIONS,
          workflowId: `${this.pipelineId}/evaluate`,
          staticSummary: `${models.length} models × ${datasets.length} data sets`,
          args: [{ run, models, datasets, placement: recipe.placement, limits: recipe.limits }],
        }),
      (value) => Object.values(value).every((result) => result.reused)
    );
    this.progress.addArtifacts(
      ...Object.keys(results)
        .sort()
        .map((key) => results[key]!.summary)
    );
  }

  private async conclude(
    resolved: ResolveResult,
    proxies: Proxies,
    data: PreparedData,
    models: EvaluatedModel[]
  ): Promise<PipelineResult> {
    const { run } = resolved;
    const judged = await this.stage('judge', ['data'], () =>
      this.activity('judge', 'judge', () =>
        proxies.data.judge({ run, models: models.map((model) => model.name), datasets: Object.keys(data.evaluation) })
      )
    );
    this.progress.value.verdict = judged.facts;
    this.progress.addArtifacts(judged.verdict);
    const published = await this.stage('report', ['data'], () =>
      this.activity('report', 'publishReport', () => proxies.data.publishReport({ run, progress: this.progress.value }))
    );
    this.progress.addArtifacts(published.report, published.manifest);
    delete this.progress.value.etaSeconds;
    this.progress.setState('completed');
    this.show();
    return {
      runDirectory: resolved.runDirectory,
      recipeHash: resolved.recipeHash,
      verdict: judged.facts,
      report: published.report,
      manifest: published.manifest,
    };
  }

  /** One stage: state, queue watch, and the operator's halt when it fails. */
  private async stage<T>(
    name: string,
    roles: Role[],
    work: () => Promise<T>,
    reused?: (value: T) => boolean
  ): Promise<T> {
    const queues = roles.map((role) => activityTaskQueue(role, this.recipe?.placement[role] ?? this.dataTag));
    for (;;) {
      this.attributes.set('stage', name);
      this.progress.startStage(name);
      this.show();
      try {
        const result = await watchQueues(queues, (note) => this.noteStage(name, note), work);
        this.endStage(name, reused?.(result) ? 'reused' : 'done');
        return result;
      } catch (error) {
        await this.halt(name, error);
      }
    }
  }

  /** Returns when the stage shall be tried again. @throws the failure, typed, when it shall not */
  private async halt(name: string, error: unknown): Promise<void> {
    const failure = classifyFailure(error);
    if (failure.kind === 'cancelled') {
      this.endStage(name, 'cancelled');
      throw error;
    }
    this.attributes.set('lastFailureType', failure.type);
    const waits = this.recipe?.onHalt === 'wait' && failureHalts(failure.type);
    this.endStage(name, waits ? 'halted' : 'failed');
    if (!waits) throw toWorkflowFailure(failure);
    const decision = await this.waitForDecision(name, failure);
    if (decision?.action !== 'retry') {
      this.endStage(name, 'failed');
      throw toWorkflowFailure(failure);
    }
    this.retry.noteProgress();
    this.progress.setState('running');
  }

  private async waitForDecision(
    name: string,
    failure: ReturnType<typeof classifyFailure>
  ): Promise<Decision | undefined> {
    try {
      const waiting = this.desk.wait(name, failure, this.recipe?.limits.decisionHours ?? 1);
      this.show();
      return await waiting;
    } catch (error) {
      this.endStage(name, 'cancelled');
      throw error;
    }
  }

  private activity<T>(stage: string, activity: string, call: () => Promise<T>): Promise<T> {
    return this.retry.run({ stage, activity }, call);
  }

  private endStage(name: string, state: StageState): void {
    this.progress.endStage(name, state);
    this.show();
  }

  private noteStage(name: string, note: string | undefined): void {
    this.progress.noteStage(name, note);
    this.show();
  }

  private take(report: ChildReport): void {
    this.progress.apply(report);
    const arm = report.arm;
    if (arm !== undefined && arm.progress.phase === 'train') this.attributes.set('globalStep', arm.progress.step);
    const last = this.progress.lastFailureType;
    if (report.attempts !== undefined && last !== undefined) this.attributes.set('lastFailureType', last);
    this.show();
  }

  private show(): void {
    setCurrentDetails(currentDetails(this.progress.value));
  }
}

function failureHalts(type: keyof typeof FAILURES): boolean {
  return FAILURES[type].afterwards === 'halt';
}

/**
 * Runs tasks side by side. When one fails the others are cancelled and waited for (they stop their engines), and the first
 * failure is thrown.
 */
async function allOrFirstFailure<T>(tasks: (() => Promise<T>)[]): Promise<T[]> {
  const scope = new CancellationScope();
  return await scope.run(async () => {
    let first: { error: unknown } | undefined;
    const settled = await Promise.allSettled(
      tasks.map(async (task) => {
        try {
          return await task();
        } catch (error) {
          first ??= { error };
          scope.cancel();
          throw error;
        }
      })
    );
    if (first !== undefined) throw first.error;
    return settled.map((result) => (result as PromiseFulfilledResult<T>).value);
  });
}
