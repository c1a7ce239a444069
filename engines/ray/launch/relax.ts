import { join } from 'node:path';
import type { Recipe } from '../../../shared/contracts/recipe.js';
import type { JobFile, LaunchFacts } from '../types.js';
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

/** Path of the file whose keys become attributes of Relax's arguments. */
function configPath({ dumpDir }: LaunchFacts): string {
  return join(dumpDir, 'mem_agent.yaml');
}

/** `relax.entrypoints.train`: see `examples/mem_agent/run-qwen3-4B-train.sh` of the reference. */
export function relaxFlags(recipe: Recipe, cluster: Cluster, facts: LaunchFacts): Flag[] {
  const everyGpu = [1, cluster.gpus];
  return [
    flag('--resource', JSON.stringify({ actor: everyGpu, rollout: everyGpu }), 'cluster.gpus'),
    ...modelFlags(modelShape(facts.modelDir, recipe.model.id)),
    flag('--hf-checkpoint', facts.modelDir, 'model'),
    flag('--ref-load', recipe.cluster?.referenceCheckpoint ?? facts.modelDir, 'cluster.referenceCheckpoint, model'),
    ...fixed(['--megatron-to-hf-mode', 'bridge']),
    flag('--save', facts.saveDir, 'the run’s folder'),
    flag('--save-interval', recipe.grpo.checkpointEvery, 'grpo.checkpointEvery'),
    ...fixed(['--max-actor-ckpt-to-keep', 3]),
    ...resumeFlags(facts),
    flag('--prompt-data', facts.trainData, 'data'),
    ...fixed(['--input-key', 'prompt'], ['--label-key', 'label'], ['--metadata-key', 'metadata']),
    ...fixed(
      ['--custom-generate-function-path', 'examples.mem_agent.rollout.generate'],
      ['--custom-rm-path', 'examples.mem_agent.reward.reward_func'],
      ['--custom-convert-samples-to-train-data-path', 'examples.mem_agent.convert.convert_samples']
    ),
    flag('--custom-config-path', configPath(facts), 'memory, written by the launcher'),
    ...fixed(['--reward-key', 'score']),
    ...rolloutFlags(recipe, cluster, facts),
    ...grpoFlags(recipe),
    ...optimizerFlags(recipe),
    ...parallelFlags(cluster),
    flag('--rollout-num-gpus-per-engine', cluster.tensorParallel, 'cluster.tensorParallel'),
    ...fixed(['--sglang-mem-fraction-static', 0.7]),
    ...numericFlags(recipe),
    flag('--max-staleness', cluster.staleness, 'cluster.staleness'),
    ...fixed(['--num-data-storage-units', 1], '--colocate'),
  ];
}

/**
 * Settings of the memory agent. One trajectory becomes at most `maxChunks` memory rows and one answer row: the queue's capacity
 * is declared as that many times the trajectories, and rows that are already normalized are grouped by one.
 */
export function relaxConfig({ memory, grpo, model }: Recipe, facts: LaunchFacts): JobFile {
  const settings: [key: string, value: string | number | boolean][] = [
    ['mem_agent_chunk_tokens', memory.chunkTokens],
    ['mem_agent_max_memory_tokens', memory.memoryTokens],
    ['mem_agent_max_final_tokens', memory.finalTokens],
    ['mem_agent_max_chunks', memory.maxChunks],
    ...(memory.enableThinking === null
      ? []
      : [['mem_agent_enable_thinking', memory.enableThinking] as [string, boolean]]),
    ['mem_agent_credit_assignment', grpo.credit],
    ['mem_agent_strict_alignment', true],
    ['custom_train_sample_expansion_factor', memory.maxChunks + 1],
    ['custom_train_data_group_size', 1],
    ['custom_train_expanded_batch', true],
    ['mem_agent_train_rows_multiple', grpo.rowsMultiple],
    ['model_id', model.id ?? facts.modelDir],
    ...(model.revision === undefined ? [] : [['model_revision', model.revision] as [string, string]]),
  ];
  // JSON's scalars are YAML's.
  return {
    path: configPath(facts),
    text: settings.map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`).join(''),
  };
}
