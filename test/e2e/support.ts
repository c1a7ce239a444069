import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { createActivities, type ActivitiesByRole } from '../../activities/index.js';
import type { ActivityPorts } from '../../activities/ports.js';
import { activityTaskQueue, ROLES, WORKFLOW_TASK_QUEUE } from '../../shared/contracts/queues.js';
import { entryPath, packageRoot } from '../../shared/runtime/entry.js';
import { budgetConverter } from '../helpers/payload-budget.js';

/** Logs of the real activities would drown a test's own output. */
export const quiet: ActivityPorts['log'] = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** A recipe of the laptop task that is small enough for a test and goes through every stage for real. */
export function tinyRecipe(root: string, tag: string, changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: 'tiny',
    engine: 'embedded',
    model: { path: 'models/laptop' },
    data: { generate: { seed: 7, trainItems: 16, devItems: 6, trainChunks: 2, factsPerChunk: 8 } },
    memory: { chunkTokens: 24, memoryTokens: 16, finalTokens: 8, maxChunks: 64 },
    arms: { relax: { flavour: 'relax' }, vime: { flavour: 'vime' } },
    grpo: { steps: 4, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4, weightDecay: 0, checkpointEvery: 2 },
    evaluation: { lengths: [2, 3], items: 6, concurrency: 4, serverContext: 128 },
    placement: { data: tag, rollout: tag, train: tag, convert: tag, evaluate: tag },
    limits: { heartbeatSeconds: 2 },
    artifacts: root,
    ...changes,
  };
}

export function freshTag(): string {
  return `t${randomUUID().slice(0, 8)}`;
}

export async function temporaryRoot(): Promise<{ root: string; remove(): Promise<void> }> {
  const root = await mkdtemp(join(tmpdir(), 'memagent-e2e-'));
  return { root, remove: () => rm(root, { recursive: true, force: true }) };
}

/** Runs `body` while this process serves the workflow queue and every role of a tag with the real activities. */
export async function withRealWorkers<T>(
  environment: TestWorkflowEnvironment,
  tag: string,
  body: () => Promise<T>
): Promise<T> {
  return serveActivities(environment, tag, createActivities({ log: quiet, projectRoot: packageRoot() }), body);
}

/** The same with given activities, e.g. real ones with one fault put in. */
export async function serveActivities<T>(
  environment: TestWorkflowEnvironment,
  tag: string,
  activities: ActivitiesByRole,
  body: () => Promise<T>
): Promise<T> {
  const common = {
    connection: environment.nativeConnection,
    namespace: environment.namespace ?? 'default',
    shutdownGraceTime: '1s',
    dataConverter: budgetConverter,
  } as const;
  const workers = [
    await Worker.create({
      ...common,
      taskQueue: WORKFLOW_TASK_QUEUE,
      workflowBundle: { codePath: entryPath('workflow-bundle.js') },
      activities: activities.workflowQueue,
    }),
  ];
  for (const role of ROLES)
    workers.push(
      await Worker.create({ ...common, taskQueue: activityTaskQueue(role, tag), activities: activities[role] })
    );
  const running = Promise.all(workers.map((worker) => worker.run()));
  try {
    return await body();
  } finally {
    for (const worker of workers) worker.shutdown();
    await running;
  }
}

export function start(environment: TestWorkflowEnvironment, recipe: unknown, id: string): Promise<WorkflowHandle> {
  return environment.client.workflow.start('memAgentPipeline', {
    taskQueue: WORKFLOW_TASK_QUEUE,
    workflowId: id,
    args: [recipe],
  });
}
