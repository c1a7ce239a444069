import type { Phase } from '../../../shared/contracts/activities.js';
import type { Recipe } from '../../../shared/contracts/recipe.js';
import type { LaunchFacts } from '../types.js';
import {
  grpoFlags,
  numericFlags,
  optimizerFlags,
  parallelFlags,
  resumeFlags,
  rolloutFlags,
  type Cluster,
} from './common-flags.js';
import { fixed, flag, type Flag } from './flag.js';
import { modelFlags, modelShape } from './model-shape.js';

/** GPUs of a node where a job has several; the references run on nodes of eight. */
const GPUS_PER_NODE = 8;

/** `train.py`: see `examples/mem_agent/_common.sh` of the reference. */
export function vimeFlags(recipe: Recipe, cluster: Cluster, facts: LaunchFacts): Flag[] {
  const perNode = Math.min(cluster.gpus, GPUS_PER_NODE);
  return [
    ...fixed(['--train-backend', 'megatron']),
    ...modelFlags(modelShape(facts.modelDir, recipe.model.id)),
    flag('--hf-checkpoint', facts.modelDir, 'model'),
    ...referenceFlags(cluster, facts),
    flag('--save', facts.saveDir, 'the run’s folder'),
    flag('--save-interval', recipe.grpo.checkpointEvery, 'grpo.checkpointEvery'),
    ...resumeFlags(facts),
    ...fixed(
      ['--custom-generate-function-path', 'examples.mem_agent.rollout.generate'],
      ['--custom-rm-path', 'examples.mem_agent.rollout.reward_func'],
      ['--custom-convert-samples-to-train-data-path', 'examples.mem_agent.custom_convert.custom_convert']
    ),
    flag('--prompt-data', facts.trainData, 'data'),
    ...fixed(['--input-key', 'prompt'], ['--label-key', 'label'], ['--reward-key', 'score']),
    ...fixed(['--rollout-function-path', 'vime.rollout.vllm_rollout.generate_rollout']),
    ...rolloutFlags(recipe, cluster, facts),
    ...optimizerFlags(recipe),
    ...grpoFlags(recipe),
    ...parallelFlags(cluster),
    flag('--rollout-num-gpus-per-engine', cluster.tensorParallel, 'cluster.tensorParallel'),
    ...fixed(['--vllm-gpu-memory-utilization', 0.7]),
    flag('--vllm-max-model-len', cluster.engineContext, 'cluster.engineContext', 'the context that the other arm has'),
    ...fixed(['--router-policy', 'consistent_hash']),
    ...numericFlags(recipe),
    flag('--actor-num-nodes', Math.ceil(cluster.gpus / perNode), 'cluster.gpus'),
    flag('--actor-num-gpus-per-node', perNode, 'cluster.gpus'),
    ...fixed('--colocate'),
  ];
}

/** The frozen base: converted beforehand, or read from the Hugging Face files through the bridge, as Relax does. */
function referenceFlags(cluster: Cluster, facts: LaunchFacts): Flag[] {
  if (cluster.referenceCheckpoint !== undefined)
    return [flag('--ref-load', cluster.referenceCheckpoint, 'cluster.referenceCheckpoint')];
  return [
    flag('--ref-load', facts.modelDir, 'model'),
    flag(
      '--megatron-to-hf-mode',
      'bridge',
      'fixed',
      'the base is read from its Hugging Face files, as in the other arm'
    ),
  ];
}

/** VIME's rollout reads the memory agent's settings from its environment. */
export function vimeEnvironment({ memory }: Recipe, path: string, phase: Phase): Record<string, string> {
  return {
    VIME_ROOT: path,
    MEM_CHUNK_TOKENS: String(memory.chunkTokens),
    MEM_MAX_MEMORY: String(memory.memoryTokens),
    MEM_MAX_FINAL: String(memory.finalTokens),
    MEM_MAX_CHUNKS: String(memory.maxChunks),
    // Prints each trajectory's turns: the only count of generated rows that the smoke gate can read.
    ...(phase === 'smoke' ? { MEM_DEBUG: '1' } : {}),
  };
}
