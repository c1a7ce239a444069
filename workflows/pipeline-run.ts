import {
  ApplicationFailure,
  ChildWorkflowCancellationType,
  executeChild,
  isCancellation,
  ParentClosePolicy,
} from '@temporalio/workflow';
import type {
  ConvertCheckpointResult,
  Phase,
  PreparedData,
  ResolveResult,
  RunHandle,
  ScreenResult,
} from '../shared/contracts/activities.js';
import { LOCAL_TAG, type Role } from '../shared/contracts/queues.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { SCREENING_SERVER, stageNames } from '../shared/contracts/stages.js';
import { proxiesFor, resolveProxy, type Proxies } from './activity-proxies.js';
import { classifyFailure, toWorkflowFailure } from './classify-failure.js';
import { grpoRun, type GrpoRunResult } from './grpo-run.js';
import { pairedEvaluation, type EvaluatedModel } from './paired-evaluation.js';
import type { PipelineResult } from './pipeline.js';
import { rawMember, rawTag } from './raw-recipe.js';
import { Rewind } from './rewind.js';
import { allOrFirstFailure } from './side-by-side.js';
import { StageBoard } from './stage-board.js';
import { stopServing } from './stop-serving.js';

/** Children clean up (stop engines) before the parent ends, and are cancelled, not killed, when the parent is terminated. */
const CHILD_OPTIONS = {
  cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
  parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
} as const;

/** What the chain needs once the recipe is resolved. */
interface Context {
  run: RunHandle;
  recipe: Recipe;
  proxies: Proxies;
}

/** One execution of the chain. */
export class Pipeline {
  private readonly board: StageBoard;
  private readonly dataTag: string;

  constructor(
    private readonly pipelineId: string,
    private readonly rawRecipe: unknown
  ) {
    const name = rawMember(rawRecipe, 'name');
    this.dataTag = rawTag(rawRecipe, LOCAL_TAG, 'placement', 'data');
    this.board = new StageBoard(pipelineId, typeof name === 'string' ? name.slice(0, 63) : 'unnamed', this.dataTag);
  }

  async execute(): Promise<PipelineResult> {
    const { board } = this;
    try {
      await board.attributes.inspect();
      const result = await this.chain(await this.resolve());
      board.notify('completed', { verdict: result.verdict });
      return result;
    } catch (error) {
      const cancelled = isCancellation(error);
      board.progress.setState(cancelled ? 'cancelled' : 'failed');
      board.show();
      const failure = classifyFailure(error);
      if (cancelled) board.notify('cancelled', {});
      else board.notify('failed', { type: typeOf(error), message: failure.message.slice(0, 1000), cure: failure.cure });
      if (cancelled || error instanceof ApplicationFailure) throw error;
      throw toWorkflowFailure(failure);
    } finally {
      await board.notifier.settled();
    }
  }

  /** Goes through the chain, and again from an earlier stage as often as the operator decides so. */
  private async chain(resolved: ResolveResult): Promise<PipelineResult> {
    const { run, recipe } = resolved;
    const context: Context = { run, recipe, proxies: proxiesFor(recipe.placement, recipe.limits) };
    this.declareStages(recipe);
    for (;;) {
      try {
        const data = await this.prepare(context);
        await this.screen(context);
        const models = await this.runArms(context);
        await this.evaluate(context, data, models);
        return await this.conclude(context, resolved, data, models);
      } catch (error) {
        if (!(error instanceof Rewind)) throw error;
        this.board.rewind(error.stage);
      }
    }
  }

  private async resolve(): Promise<ResolveResult> {
    const { board } = this;
    board.progress.declareStage('resolve', board.queue('data'));
    const resolved = await board.stage('resolve', ['data'], () =>
      board.activity('resolve', 'resolveRecipe', () =>
        resolveProxy(this.dataTag).resolveRecipe({ pipelineId: this.pipelineId, recipe: this.rawRecipe })
      )
    );
    board.recipe = resolved.recipe;
    board.notifier.settings = resolved.recipe.notify;
    Object.assign(board.progress.value, { recipeHash: resolved.recipeHash, runDirectory: resolved.runDirectory });
    board.attributes.set('recipeHash', resolved.recipeHash);
    return resolved;
  }

  private declareStages(recipe: Recipe): void {
    const { board } = this;
    const screened = recipe.data.screening !== undefined;
    for (const name of stageNames(Object.keys(recipe.arms).sort(), screened))
      board.progress.declareStage(name, board.queue(roleOf(name)));
  }

  private async prepare({ run, recipe, proxies }: Context): Promise<PreparedData> {
    const models = ['base', ...Object.keys(recipe.arms).sort()];
    const datasets = ['dev', ...recipe.evaluation.lengths.map((length) => `eval_${length}`)];
    this.board.setAside = (stage) =>
      this.board.activity(stage, 'setStageAside', () => proxies.data.setStageAside({ run, stage, models, datasets }));
    const data = await this.board.stage(
      'data',
      ['data'],
      () => this.board.activity('data', 'prepareData', () => proxies.data.prepareData({ run })),
      (value) => value.reused
    );
    this.board.progress.addArtifacts(data.manifest);
    return data;
  }

  /** The base model's own tries choose the training prompts, where the recipe asks for it. */
  private async screen({ run, recipe, proxies }: Context): Promise<void> {
    if (recipe.data.screening === undefined) return;
    const work = async (): Promise<ScreenResult> => {
      try {
        return await this.board.activity('screen', 'screenData', () => proxies.evaluate.screenData({ run }));
      } finally {
        const server = startsServers(recipe) ? 'started' : 'embedded';
        await stopServing(proxies.evaluate, run, SCREENING_SERVER, server);
      }
    };
    const screened = await this.board.stage('screen', ['evaluate'], work, (value) => value.reused);
    this.board.progress.addArtifacts(screened.manifest);
  }

  private async runArms(context: Context): Promise<EvaluatedModel[]> {
    const { recipe } = context;
    const arms = Object.keys(recipe.arms).sort();
    const models: EvaluatedModel[] = [{ name: 'base' }];
    const oneArm = async (arm: string): Promise<EvaluatedModel> => ({
      name: arm,
      weights: (await this.runArmWithDecisions(context, arm)).model,
    });
    if (recipe.limits.parallelArms) models.push(...(await allOrFirstFailure(arms.map((arm) => () => oneArm(arm)))));
    else for (const arm of arms) models.push(await oneArm(arm));
    return models;
  }

  /** Beginning again within an arm leaves the other arms alone. */
  private async runArmWithDecisions(context: Context, arm: string): Promise<ConvertCheckpointResult> {
    for (;;) {
      try {
        return await this.runArm(context, arm);
      } catch (error) {
        if (!(error instanceof Rewind) || error.stage.split(':')[1] !== arm) throw error;
        this.board.rewind(error.stage);
      }
    }
  }

  private async runArm(context: Context, arm: string): Promise<ConvertCheckpointResult> {
    const { run, recipe, proxies } = context;
    await this.training(context, arm, 'smoke', recipe.smoke.steps);
    const trained = await this.training(context, arm, 'train', recipe.grpo.steps);
    const name = `convert:${arm}`;
    const call = { run, arm, checkpoint: trained.checkpoint };
    return await this.board.stage(
      name,
      ['convert'],
      () => this.board.activity(name, 'convertCheckpoint', () => proxies.convert.convertCheckpoint(call)),
      (value) => value.reused
    );
  }

  private async training(
    { run, recipe }: Context,
    arm: string,
    phase: Phase,
    totalSteps: number
  ): Promise<GrpoRunResult> {
    const { placement, limits, grpo, oomFallback } = recipe;
    const fallback = oomFallback === undefined ? {} : { oomFallback };
    // A job's framework makes its own rollouts. The embedded engine's arguments stay as they were recorded.
    const isJob = recipe.engine === 'ray';
    const engine = isJob ? ({ engine: 'ray' } as const) : {};
    const closed = await this.board.stage(
      `${phase}:${arm}`,
      isJob ? ['data', 'train'] : ['data', 'rollout', 'train'],
      () =>
        executeChild(grpoRun, {
          ...CHILD_OPTIONS,
          workflowId: `${this.pipelineId}/${phase}-${arm}`,
          staticSummary: `${phase} run of arm ${arm}, ${totalSteps} steps`,
          args: [
            {
              ...{ run, arm, phase, totalSteps, checkpointEvery: grpo.checkpointEvery, placement, limits },
              ...fallback,
              ...engine,
            },
          ],
        }),
      (value) => value.reused === true
    );
    this.board.progress.addArtifacts(...closed.artifacts);
    return closed;
  }

  private async evaluate({ run, recipe }: Context, data: PreparedData, models: EvaluatedModel[]): Promise<void> {
    const { placement, limits, evaluation, oomFallback } = recipe;
    const fallback = oomFallback === undefined ? {} : { oomFallback };
    const { progress } = this.board;
    const datasets = Object.entries(data.evaluation).map(([name, facts]) => ({
      name,
      samples: facts.rows * evaluation.samplesPerItem,
    }));
    for (const model of models) {
      for (const { name, samples } of datasets) {
        progress.value.evaluations[`${model.name}/${name}`] = { total: samples, done: 0, errors: 0 };
      }
    }
    const results = await this.board.stage(
      'evaluate',
      ['evaluate'],
      () =>
        executeChild(pairedEvaluation, {
          ...CHILD_OPTIONS,
          workflowId: `${this.pipelineId}/evaluate`,
          staticSummary: `${models.length} models × ${datasets.length} data sets`,
          args: [
            {
              run,
              models,
              datasets,
              placement,
              limits,
              ...(startsServers(recipe) ? { oneAtATime: true as const } : {}),
              ...fallback,
            },
          ],
        }),
      (value) => Object.values(value).every((result) => result.reused)
    );
    const sorted = Object.entries(results).sort(([a], [b]) => (a < b ? -1 : 1));
    progress.addArtifacts(...sorted.map(([, result]) => result.summary));
  }

  private async conclude(
    { run, proxies }: Context,
    resolved: ResolveResult,
    data: PreparedData,
    models: EvaluatedModel[]
  ): Promise<PipelineResult> {
    const { board } = this;
    const call = { run, models: models.map((model) => model.name), datasets: Object.keys(data.evaluation) };
    const judged = await board.stage('judge', ['data'], () =>
      board.activity('judge', 'judge', () => proxies.data.judge(call))
    );
    board.progress.value.verdict = judged.facts;
    board.progress.addArtifacts(judged.verdict);
    const published = await board.stage('report', ['data'], () =>
      board.activity('report', 'publishReport', () =>
        proxies.data.publishReport({ run, progress: board.progress.value })
      )
    );
    board.progress.addArtifacts(published.report, published.manifest);
    delete board.progress.value.etaSeconds;
    board.progress.setState('completed');
    board.show();
    return {
      runDirectory: resolved.runDirectory,
      recipeHash: resolved.recipeHash,
      verdict: judged.facts,
      report: published.report,
      manifest: published.manifest,
    };
  }
}

/** Role whose queue is shown beside a stage. */
function roleOf(stage: string): Role {
  const kind = stage.split(':')[0];
  if (kind === 'smoke' || kind === 'train') return 'train';
  if (kind === 'screen') return 'evaluate';
  return kind === 'convert' || kind === 'evaluate' ? kind : 'data';
}

function typeOf(error: unknown): string {
  return error instanceof ApplicationFailure && error.type ? error.type : classifyFailure(error).type;
}

/** A server that is started for each model wants the machine's GPUs for itself. */
function startsServers({ serving }: Recipe): boolean {
  return serving !== undefined && serving.engine !== 'embedded' && serving.endpoint === undefined;
}
