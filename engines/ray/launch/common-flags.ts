import type { Recipe } from '../../../shared/contracts/recipe.js';
import type { LaunchFacts } from '../types.js';
import { fixed, flag, type Flag } from './flag.js';

/** The recipe's cluster; the recipe's rules make sure that a job engine has one. */
export type Cluster = NonNullable<Recipe['cluster']>;

const SAID = 'the default, said so that both arms are seen to have it';

/** Checkpoints: what is loaded, and where a job goes on. */
export function resumeFlags({ resume }: LaunchFacts): Flag[] {
  if (resume === undefined) return [];
  const why = 'only when a job goes on from a checkpoint';
  return [
    flag('--load', resume.dir, 'the newest complete checkpoint', why),
    flag('--start-rollout-id', resume.step + 1, 'the newest complete checkpoint', why),
  ];
}

/** Steps, batch and sampling of rollouts. */
export function rolloutFlags(recipe: Recipe, cluster: Cluster, facts: LaunchFacts): Flag[] {
  const { grpo, memory } = recipe;
  const turn = 'one request is one turn: the recipe’s context holds chunk, memory and response';
  return [
    flag('--num-rollout', facts.numRollout, 'grpo.steps, smoke.steps'),
    flag('--rollout-batch-size', grpo.promptsPerStep, 'grpo.promptsPerStep'),
    flag('--n-samples-per-prompt', grpo.groupSize, 'grpo.groupSize'),
    flag('--rollout-max-response-len', Math.max(memory.memoryTokens, memory.finalTokens), 'memory.memoryTokens', turn),
    flag('--rollout-max-context-len', cluster.engineContext, 'cluster.engineContext', turn),
    flag('--rollout-temperature', grpo.temperature, 'grpo.temperature'),
    flag('--rollout-top-p', grpo.topP, 'grpo.topP'),
    flag('--rollout-seed', grpo.rolloutSeed, 'grpo.rolloutSeed', SAID),
    ...fixed('--rollout-shuffle'),
    flag('--global-batch-size', grpo.promptsPerStep * grpo.groupSize, 'grpo.promptsPerStep × grpo.groupSize'),
    ...fixed('--balance-data'),
  ];
}

/** The objective. */
export function grpoFlags({ grpo }: Recipe): Flag[] {
  return [
    ...fixed(['--advantage-estimator', 'grpo'], '--use-kl-loss'),
    flag('--kl-loss-coef', grpo.klCoefficient, 'grpo.klCoefficient'),
    ...fixed(['--kl-loss-type', 'low_var_kl']),
    flag('--entropy-coef', 0, 'fixed', SAID),
    flag('--eps-clip', grpo.clip[0], 'grpo.clip'),
    flag('--eps-clip-high', grpo.clip[1], 'grpo.clip'),
    ...(grpo.stdNormalization
      ? []
      : [{ name: '--disable-grpo-std-normalization', from: 'grpo.stdNormalization', why: 'the recipe says so' }]),
    ...(grpo.lossReduction === 'sample_mean'
      ? []
      : [{ name: '--calculate-per-token-loss', from: 'grpo.lossReduction', why: 'the recipe says so' }]),
  ];
}

export function optimizerFlags({ grpo }: Recipe): Flag[] {
  return [
    ...fixed(['--optimizer', 'adam']),
    flag('--lr', grpo.learningRate, 'grpo.learningRate'),
    ...fixed(['--lr-decay-style', 'constant']),
    flag('--weight-decay', grpo.weightDecay, 'grpo.weightDecay'),
    flag('--adam-beta1', grpo.adamBetas[0], 'grpo.adamBetas'),
    flag('--adam-beta2', grpo.adamBetas[1], 'grpo.adamBetas'),
    flag('--adam-eps', grpo.adamEpsilon, 'grpo.adamEpsilon', SAID),
    flag('--clip-grad', grpo.gradientClip, 'grpo.gradientClip', SAID),
  ];
}

/** Shape of the training job and its packing. */
export function parallelFlags(cluster: Cluster): Flag[] {
  return [
    flag('--tensor-model-parallel-size', cluster.tensorParallel, 'cluster.tensorParallel'),
    ...(cluster.tensorParallel > 1 ? fixed('--sequence-parallel') : []),
    ...fixed(
      ['--pipeline-model-parallel-size', 1],
      ['--context-parallel-size', 1],
      ['--expert-model-parallel-size', 1],
      ['--expert-tensor-parallel-size', 1],
      ['--recompute-granularity', 'full'],
      ['--recompute-method', 'uniform'],
      ['--recompute-num-layers', 1],
      '--use-dynamic-batch-size'
    ),
    flag('--max-tokens-per-gpu', cluster.tokensPerGpu, 'cluster.tokensPerGpu'),
  ];
}

export function numericFlags({ grpo }: Recipe): Flag[] {
  return [
    flag('--seed', grpo.seed, 'grpo.seed', SAID),
    ...fixed(
      ['--attention-dropout', '0.0'],
      ['--hidden-dropout', '0.0'],
      '--accumulate-allreduce-grads-in-fp32',
      '--attention-softmax-in-fp32',
      ['--attention-backend', 'flash'],
      '--skip-eval-before-train'
    ),
  ];
}
