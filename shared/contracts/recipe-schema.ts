import { z } from 'zod';
import { cluster, serving } from './recipe-cluster.js';
import { data } from './recipe-data.js';
import { LOCAL_TAG, TAG_PATTERN } from './queues.js';

/**
 * The recipe: one JSON file that says everything a run depends on. This file is the only place of defaults; they all appear
 * in the normalized recipe. Rules over several fields are in recipe-rules.ts, so that one pass reports everything. Never
 * imported by workflow code (zod would treble the bundle).
 */

const positiveInt = z.int().min(1);
const tokens = (text: string) => positiveInt.describe(`${text} Unit: tokens.`);
const commit = z.string().regex(/^[0-9a-f]{40}$/);

const model = z.strictObject({
  path: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder with config.json, model.safetensors and tokenizer files; relative to the recipe’s project folder.'
    ),
  id: z.string().min(1).optional().describe('Hugging Face model id, e.g. Qwen/Qwen3-4B.'),
  revision: commit.optional().describe('Commit of the model repository; required with `id`.'),
});

const memory = z.strictObject({
  chunkTokens: tokens('Context tokens of one chunk.').default(2048),
  memoryTokens: tokens('Cap of the memory and of one memory response.').default(1024),
  finalTokens: tokens('Cap of the final answer.').default(256),
  maxChunks: positiveInt
    .max(4096)
    .default(64)
    .describe('Chunks read at most; longer contexts are disclosed as truncated.'),
  enableThinking: z
    .boolean()
    .nullable()
    .default(null)
    .describe('`enable_thinking` of the chat template; null leaves it unset.'),
});

const arm = z.strictObject({
  flavour: z.enum(['relax', 'vime']).describe('Which reference implementation’s rules the arm follows.'),
  repo: z.string().min(1).optional().describe('Framework repository (engine ray).'),
  commit: commit.optional().describe('Framework commit (engine ray).'),
  path: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder of the framework’s checkout, the same on every node of the cluster and on convert workers (engine ray).'
    ),
});

const grpo = z.strictObject({
  steps: positiveInt.default(100).describe('GRPO steps of the full run.'),
  promptsPerStep: positiveInt.default(8).describe('Prompts (groups) of one step.'),
  groupSize: z.int().min(2).max(1024).default(8).describe('Trajectories of one prompt.'),
  learningRate: z.number().positive().default(1e-6).describe('AdamW learning rate, constant.'),
  adamBetas: z
    .tuple([z.number().min(0).lt(1), z.number().min(0).lt(1)])
    .default([0.9, 0.98])
    .describe('AdamW decay rates of the first and second moment. No unit.'),
  adamEpsilon: z.number().positive().default(1e-8).describe('Added to AdamW’s denominator. No unit.'),
  weightDecay: z.number().min(0).default(0.1).describe('Decoupled weight decay of matrices and embeddings. No unit.'),
  gradientClip: z.number().positive().default(1).describe('Global L2 norm the gradient is cut to.'),
  klCoefficient: z.number().min(0).default(0.001).describe('Coefficient of the low-variance KL to the frozen base.'),
  clip: z.tuple([z.number().positive(), z.number().positive()]).default([0.2, 0.3]).describe('PPO clip: lower, upper.'),
  stdNormalization: z.boolean().default(true).describe('Divide a group’s centred rewards by their standard deviation.'),
  credit: z
    .enum(['split', 'share'])
    .default('split')
    .describe('split: advantage / turns for each turn; share: the whole advantage.'),
  lossReduction: z
    .enum(['sample_mean', 'token_mean'])
    .default('sample_mean')
    .describe('sample_mean: mean over a row’s response tokens, then over rows; token_mean: over all response tokens.'),
  temperature: z.number().min(0).default(1).describe('Sampling temperature of rollouts; 0 is greedy. No unit.'),
  topP: z.number().positive().max(1).default(1).describe('Nucleus sampling of rollouts. Unit: probability.'),
  seed: z.int().min(0).default(1234).describe('Training seed.'),
  rolloutSeed: z.int().min(0).default(42).describe('Seed of prompt shuffling and sampling.'),
  checkpointEvery: positiveInt.default(50).describe('Steps between checkpoints; the last step always has one.'),
  rowsMultiple: positiveInt
    .default(1)
    .describe('The row count of a step must be divisible by it (data-parallel size).'),
  rolloutConcurrency: positiveInt.default(64).describe('Requests in flight at once while rolling out.'),
});

const smoke = z.strictObject({ steps: positiveInt.default(2).describe('Consecutive real steps of the smoke gate.') });

const evaluation = z.strictObject({
  lengths: z
    .array(positiveInt)
    .min(1)
    .default([50, 200, 800])
    .describe('Context lengths, chosen before any result exists. With `generate`: chunks.'),
  items: positiveInt.default(128).describe('Items of each length (the first ones of the file).'),
  devItems: positiveInt.optional().describe('Items of the development set; default all.'),
  temperature: z.number().min(0).default(0.7).describe('Sampling temperature of evaluation; 0 is greedy. No unit.'),
  topP: z.number().positive().max(1).default(0.95).describe('Nucleus sampling of evaluation. Unit: probability.'),
  samplesPerItem: positiveInt.default(1).describe('Samples of each item.'),
  seed: z.int().min(0).default(0).describe('Sampling seed where the server supports one per request.'),
  concurrency: positiveInt.default(16).describe('Requests in flight at once.'),
  serverContext: positiveInt.default(8192).describe('Context length of the serving engine. Unit: tokens.'),
});

const acceptance = z.strictObject({
  metric: z
    .enum(['sub_em', 'boxed_em', 'em', 'f1'])
    .default('sub_em')
    .describe('Metric of the lengths that the arms are compared on.'),
  tolerancePoints: z.number().min(0).default(3).describe('Largest difference of the arms. Unit: percentage points.'),
});

const tag = z
  .string()
  .regex(TAG_PATTERN, 'letters a-z, digits, dot, dash and underscore, at most 63')
  .default(LOCAL_TAG)
  .describe('Tag of the workers that do the role’s activities: queue `<role>@<tag>`.');
const placement = z.strictObject({ data: tag, rollout: tag, train: tag, convert: tag, evaluate: tag });

const limits = z.strictObject({
  continueAsNewEvery: positiveInt.max(200).default(50).describe('Steps of one workflow run before continue-as-new.'),
  stepTimeoutMinutes: z
    .number()
    .positive()
    .default(10)
    .describe('Longest time of one activity of a step. Unit: minutes.'),
  heartbeatSeconds: z.number().min(1).default(30).describe('Heartbeat time-out of long activities. Unit: seconds.'),
  decisionHours: z
    .number()
    .positive()
    .default(72)
    .describe('How long a halted pipeline waits for a decision. Unit: hours.'),
  parallelArms: z.boolean().default(true).describe('Train the arms side by side.'),
});

const notify = z.strictObject({
  webhook: z
    .string()
    .regex(/^https?:\/\/[^\s/?#@]+([/?#]\S*)?$/, 'an http or https URL without user name')
    .describe('URL that gets a small JSON message by POST when the run halts, pauses or ends.'),
  header: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/)
    .default('Authorization')
    .describe('Header that carries the secret.'),
  secretEnv: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]{0,63}$/)
    .optional()
    .describe('Name of the environment variable of the workflow worker that holds the header’s value.'),
});

const seconds = (fallback: number, text: string) =>
  z.number().positive().default(fallback).describe(`${text} Unit: seconds.`);

const watchdogLimits = z.strictObject({
  data: seconds(600, 'Longest time without a converted row while preparing data.'),
  rollout: seconds(180, 'Longest time without a finished trajectory.'),
  restore: seconds(300, 'Longest time of one replayed step while an engine is restored.'),
  train: seconds(300, 'Longest time of one optimizer step.'),
  checkpoint: seconds(180, 'Longest time of saving or converting a checkpoint.'),
  evaluate: seconds(180, 'Longest time without a finished sample of an evaluation.'),
});

const watchdog = z.strictObject({
  mode: z
    .enum(['observe', 'fail'])
    .default('fail')
    .describe('fail: a stall ends the attempt as Stalled; observe: it is noted in progress, and the work goes on.'),
  limits: watchdogLimits.prefault({}).describe('Longest time without progress, by phase.'),
  firstStepFactor: z
    .number()
    .min(1)
    .default(2)
    .describe('The first piece of work of a phase in a worker may take this many times longer. No unit.'),
});

const oomFallback = z.strictObject({
  rolloutConcurrency: positiveInt.optional().describe('Replaces grpo.rolloutConcurrency: sequences at once.'),
  evaluationConcurrency: positiveInt.optional().describe('Replaces evaluation.concurrency: sequences at once.'),
  tokensPerGpu: positiveInt.optional().describe('Replaces cluster.tokensPerGpu (engine ray). Unit: tokens.'),
});

const ablation = z.strictObject({
  shuffledAdvantages: z
    .boolean()
    .default(false)
    .describe('Permute the advantages within every group, by a seed: the gradient no longer knows who did well.'),
  emptyMemory: z
    .boolean()
    .default(false)
    .describe('Every chunk is read with an empty memory, in training and evaluation: only the last one can be kept.'),
});

/** Everything a run depends on, with defaults filled in. */
export const recipeSchema = z.strictObject({
  $schema: z.string().optional().describe('Path of recipe.schema.json, for editors.'),
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'letters, digits, dot, dash and underscore, at most 63')
    .describe('Name of the experiment.'),
  description: z.string().optional().describe('For people; part of the recipe’s hash.'),
  diagnostic: z
    .boolean()
    .optional()
    .describe('true: the run shows that the machinery works and is never an acceptance result; there is no verdict.'),
  engine: z.enum(['embedded', 'ray']).describe('embedded: the laptop policy; ray: Relax or VIME as Ray jobs.'),
  model,
  data,
  memory: memory.prefault({}),
  arms: z
    .record(z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/), arm)
    .describe('Training runs to compare, by name; `base` is the untrained model.'),
  grpo: grpo.prefault({}),
  smoke: smoke.prefault({}),
  evaluation: evaluation.prefault({}),
  acceptance: acceptance.prefault({}),
  placement: placement.prefault({}),
  cluster: cluster.optional().describe('Shape of the training job; required by engine ray.'),
  serving: serving
    .optional()
    .describe('Server of the evaluations; required by engine ray. Default with engine embedded: its own server.'),
  rolloutServing: serving
    .optional()
    .describe(
      'Server of the rollouts with engine embedded: loads the actor’s weights before every step. Default: the actor itself.'
    ),
  limits: limits.prefault({}),
  onHalt: z
    .enum(['wait', 'fail'])
    .optional()
    .describe('Halted pipelines wait for `decide` or fail at once. Default: wait for ray, fail for embedded.'),
  pauseAfter: z
    .union([z.string().min(1), z.array(z.string().min(1))])
    .default([])
    .describe(
      'Stage or stages after which the run waits for `decide`: data, screen, smoke, train, convert, evaluate, judge; with an arm as in train:relax.'
    ),
  notify: notify.optional().describe('Webhook for halt, pause and end of the run.'),
  watchdog: watchdog.prefault({}).describe('Detects work that does not get on.'),
  oomFallback: oomFallback
    .optional()
    .describe('Smaller settings that are tried once after OutOfMemory; the report names them as a deviation.'),
  ablation: ablation
    .optional()
    .describe('Takes a part of the method away, to show what it is for; the report names it as a deviation.'),
  artifacts: z
    .string()
    .min(1)
    .default('./runs')
    .describe('Folder of all runs; relative to the worker’s working directory.'),
});
