import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/activity';
import type { WorkflowHandle } from '@temporalio/client';
import { Worker, type NativeConnection } from '@temporalio/worker';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { activity } from '../../activities/scope.js';
import { serverActivities } from '../../activities/server.js';
import type { ArtifactRef } from '../../shared/contracts/artifact.js';
import type {
  ArmHandle,
  CloseArmResult,
  DataActivities,
  ConvertActivities,
  EvaluateActivities,
  OpenArmArgs,
  RolloutActivities,
  RunHandle,
  StepHandle,
  TrainActivities,
  TrainingJobArgs,
} from '../../shared/contracts/activities.js';
import { activityTaskQueue, ROLES, WORKFLOW_TASK_QUEUE } from '../../shared/contracts/queues.js';
import type { Recipe } from '../../shared/contracts/recipe.js';
import { parseRecipe } from '../../shared/contracts/recipe-parse.js';
import { entryPath } from '../../shared/runtime/entry.js';

/**
 * Activities that only keep books: they count calls and fail when told to. They stand in for hours of training where a test
 * is about the order of things, budgets and decisions; the real activities run in the end-to-end tests.
 */
export class BookKeeping {
  readonly calls: string[] = [];
  /** What the next call of an activity throws, by `<activity>` or `<activity>:<arm>:<step>`. */
  readonly faults = new Map<string, Error[]>();
  /** Calls that were to use the recipe's smaller settings. */
  readonly smaller = new Set<string>();
  /** Called (and awaited) at the start of an activity. */
  onCall: (key: string, signal: AbortSignal) => Promise<void> = async () => undefined;

  constructor(
    readonly recipe: Recipe,
    readonly options: {
      consumed?: (step: number) => number;
      finishedSteps?: number;
      /** A training run that is opened again goes on after the steps that are done. */
      resumes?: boolean;
      /** Every stage finds an equal earlier one. */
      reuses?: boolean;
    } = {}
  ) {}

  fail(key: string, type: string, times = 1, retryable = true): void {
    const error = (): Error =>
      ApplicationFailure.create({ type, message: `${type} on purpose`, nonRetryable: !retryable });
    this.faults.set(key, Array.from({ length: times }, error));
  }

  count(prefix: string): number {
    return this.calls.filter((call) => call.startsWith(prefix)).length;
  }

  private async enter(key: string, signal: AbortSignal): Promise<void> {
    this.calls.push(key);
    await this.onCall(key, signal);
    const fault = this.faults.get(key)?.shift() ?? this.faults.get(key.split(':')[0] as string)?.shift();
    if (fault !== undefined) throw fault;
  }

  private wrap<A, R>(key: (args: A) => string, result: (args: A) => R): (args: A) => Promise<R> {
    return activity(async (args: A, { signal }) => {
      if ((args as { run?: RunHandle }).run?.fallback === true) this.smaller.add(key(args));
      await this.enter(key(args), signal);
      return result(args);
    });
  }

  all(): DataActivities & RolloutActivities & TrainActivities & ConvertActivities & EvaluateActivities {
    const step = (name: string) => (args: StepHandle) => `${name}:${args.phase}-${args.arm}:${args.step}`;
    const arm = (name: string) => (args: ArmHandle) => `${name}:${args.phase}-${args.arm}`;
    const done = this.options.finishedSteps ?? 0;
    const reused = this.options.reuses === true;
    return {
      resolveRecipe: this.wrap(
        () => 'resolveRecipe',
        ({ pipelineId }: { pipelineId: string; recipe: unknown }) => ({
          run: { pipelineId, root: '/nowhere', recipeSha256: ref('recipe.json').sha256 } satisfies RunHandle,
          recipe: this.recipe,
          recipeHash: 'f'.repeat(64),
          runDirectory: `/nowhere/${pipelineId}`,
        })
      ),
      prepareData: this.wrap(
        () => 'prepareData',
        () => ({
          train: { ref: ref('data/train.jsonl'), rows: 10, skipped: 0 },
          evaluation: {
            dev: { ref: ref('data/dev.jsonl'), rows: 4, skipped: 0 },
            eval_4: { ref: ref('data/eval_4.jsonl'), rows: 4, skipped: 0 },
          },
          manifest: ref('data/manifest.json'),
          reused,
        })
      ),
      setStageAside: this.wrap(
        (args: { stage: string }) => `setStageAside:${args.stage}`,
        () => undefined
      ),
      openArm: this.wrap(arm('openArm'), (args: OpenArmArgs) => {
        const trained = new Set(this.calls.filter((call) => call.startsWith(`trainStep:${args.phase}-${args.arm}:`)));
        const nextStep = this.options.resumes === true ? trained.size : done;
        const rewards = Array.from({ length: nextStep }, () => 0.5);
        const found = this.options.reuses === true ? { reusedFrom: 'earlier', finished: closed(args) } : {};
        return { nextStep, rewards, ...found };
      }),
      generateRollouts: this.wrap(step('generateRollouts'), (args: StepHandle) => ({
        trajectories: ref(`rollouts/${args.step}`),
        generatedTurns: 20,
        meanReward: args.step / 100,
        sampledTokens: 100,
        promptTokens: 900,
        seconds: 0.1,
      })),
      convertRollouts: this.wrap(step('convertRollouts'), (args: StepHandle) => ({
        rows: ref(`rows/${args.step}`),
        producedRows: 20,
        trimmedRows: 0,
      })),
      trainStep: this.wrap(step('trainStep'), (args: StepHandle) => ({
        result: ref(`train/${args.step}`),
        consumedRows: this.options.consumed?.(args.step) ?? 20,
        weightsVersion: args.step + 1,
        loss: 0.1,
        kl: 0.01,
        gradientNorm: 1,
        entropy: 0.5,
        trainedTokens: 100,
        seconds: 0.1,
      })),
      saveCheckpoint: this.wrap(step('saveCheckpoint'), (args: StepHandle) => ({
        checkpoint: ref(`iter_${args.step}`),
        weightsVersion: args.step + 1,
      })),
      stopEngine: this.wrap(arm('stopEngine'), () => undefined),
      preflight: this.wrap(arm('preflight'), () => undefined),
      runTrainingJob: this.wrap(
        (args: TrainingJobArgs) => `runTrainingJob:${args.phase}-${args.arm}:${args.fromStep}`,
        (args: TrainingJobArgs) => ({
          steps: args.untilStep,
          finished: args.untilStep === args.totalSteps,
          submissionId: `${args.arm}-1`,
          rewardsFrom: args.fromStep,
          rewards: Array.from({ length: args.untilStep - args.fromStep }, () => 0.5),
        })
      ),
      closeArm: this.wrap(arm('closeArm'), closed),
      convertCheckpoint: this.wrap(
        (args: { arm: string }) => `convertCheckpoint:${args.arm}`,
        () => ({ model: ref('hf'), tensors: 12, largestDifference: 0.1, reused })
      ),
      evaluateModel: this.wrap(
        (args: { model: string; dataset: string; acceptErrors?: boolean }) =>
          `evaluateModel:${args.model}:${args.dataset}${args.acceptErrors ? ':accepted' : ''}`,
        () => ({
          summary: ref('summary'),
          samples: ref('samples'),
          total: 4,
          successful: 4,
          errors: 0,
          subEmPct: 50,
          boxedEmPct: 50,
          f1Pct: 50,
          emPct: 50,
          contextsTruncated: 0,
          reused,
          seconds: 1,
        })
      ),
      stopServing: this.wrap(
        (args: { model: string }) => `stopServing:${args.model}`,
        () => undefined
      ),
      judge: this.wrap(
        () => 'judge',
        () => ({ verdict: ref('verdict.json'), facts: { outcome: 'passed' as const, sentence: 'The arms agree.' } })
      ),
      publishReport: this.wrap(
        () => 'publishReport',
        () => ({ report: ref('report.html'), manifest: ref('manifest.json') })
      ),
    };
  }
}

function closed(args: ArmHandle & { totalSteps: number }): CloseArmResult {
  return {
    steps: args.totalSteps,
    firstWindowMean: 0.2,
    lastWindowMean: 0.8,
    rewards: [0.2, 0.8],
    artifacts: [ref(`${args.arm}/reward.csv`)],
    checkpoint: ref(`${args.arm}/iter`),
  };
}

export function ref(path: string): ArtifactRef {
  return { path, sha256: '0'.repeat(64), bytes: 1, kind: 'log' };
}

/** A small recipe; every test gets its own tag, so that its queues are its own. */
export function testRecipe(changes: Record<string, unknown> = {}, tag = `t${randomUUID().slice(0, 8)}`): Recipe {
  return parseRecipe(
    {
      name: 'test',
      engine: 'embedded',
      model: { path: 'models/laptop' },
      data: { generate: {} },
      arms: { relax: { flavour: 'relax' }, vime: { flavour: 'vime' } },
      grpo: { steps: 4, checkpointEvery: 2 },
      placement: { data: tag, rollout: tag, train: tag, convert: tag, evaluate: tag },
      limits: { heartbeatSeconds: 1, ...(changes['limits'] as object | undefined) },
      ...Object.fromEntries(Object.entries(changes).filter(([key]) => key !== 'limits')),
    },
    'test recipe'
  );
}

/** Runs `body` while a workflow worker and one activity worker per role serve the recipe's queues. */
export async function withWorkers<T>(
  environment: TestWorkflowEnvironment,
  books: BookKeeping,
  body: () => Promise<T>,
  workflowBundle: { codePath: string } | { code: string } = { codePath: entryPath('workflow-bundle.js') }
): Promise<T> {
  const connection = environment.nativeConnection as NativeConnection;
  const common = { connection, namespace: environment.namespace ?? 'default', shutdownGraceTime: '1s' } as const;
  const workers = [
    await Worker.create({
      ...common,
      taskQueue: WORKFLOW_TASK_QUEUE,
      workflowBundle,
      activities: serverActivities(),
    }),
  ];
  for (const role of ROLES) {
    workers.push(
      await Worker.create({
        ...common,
        taskQueue: activityTaskQueue(role, books.recipe.placement[role]),
        activities: books.all(),
      })
    );
  }
  const running = Promise.all(workers.map((worker) => worker.run()));
  try {
    return await body();
  } finally {
    for (const worker of workers) worker.shutdown();
    await running;
  }
}

/** Waits for an event without a fixed pause: asks until the answer is yes. */
export async function until(question: () => Promise<boolean> | boolean, what: string, limitMs = 30_000): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await question())) {
    if (Date.now() > deadline) throw new Error(`timed out waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export async function startPipeline(
  environment: TestWorkflowEnvironment,
  books: BookKeeping,
  id = `p-${randomUUID().slice(0, 8)}`
): Promise<WorkflowHandle> {
  return environment.client.workflow.start('memAgentPipeline', {
    taskQueue: WORKFLOW_TASK_QUEUE,
    workflowId: id,
    args: [books.recipe],
  });
}
