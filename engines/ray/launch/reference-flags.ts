import type { Flavour } from '../types.js';

/** Stands for a path or name that every installation has its own of. */
export const OWN = Symbol('own place');

type Values = Readonly<Record<string, string | number | true | typeof OWN>>;

const MODEL_4B: Values = {
  '--swiglu': true,
  '--num-layers': 36,
  '--hidden-size': 2560,
  '--ffn-hidden-size': 9728,
  '--num-attention-heads': 32,
  '--group-query-attention': true,
  '--num-query-groups': 8,
  '--use-rotary-position-embeddings': true,
  '--disable-bias-linear': true,
  '--normalization': 'RMSNorm',
  '--norm-epsilon': 1e-6,
  '--rotary-base': 1000000,
  '--vocab-size': 151936,
  '--kv-channels': 128,
  '--qk-layernorm': true,
};

/** What both references' scripts have alike. */
const BOTH: Values = {
  ...MODEL_4B,
  '--hf-checkpoint': OWN,
  '--ref-load': OWN,
  '--save': OWN,
  '--save-interval': 50,
  '--prompt-data': OWN,
  '--input-key': 'prompt',
  '--label-key': 'label',
  '--custom-generate-function-path': 'examples.mem_agent.rollout.generate',
  '--reward-key': 'score',
  '--num-rollout': 100,
  '--rollout-batch-size': 8,
  '--n-samples-per-prompt': 8,
  '--rollout-temperature': 1,
  '--rollout-top-p': 1,
  '--rollout-shuffle': true,
  '--global-batch-size': 64,
  '--balance-data': true,
  '--advantage-estimator': 'grpo',
  '--use-kl-loss': true,
  '--kl-loss-coef': 0.001,
  '--kl-loss-type': 'low_var_kl',
  '--eps-clip': 0.2,
  '--eps-clip-high': 0.3,
  '--optimizer': 'adam',
  '--lr': 1e-6,
  '--lr-decay-style': 'constant',
  '--weight-decay': 0.1,
  '--adam-beta1': 0.9,
  '--adam-beta2': 0.98,
  '--tensor-model-parallel-size': 2,
  '--sequence-parallel': true,
  '--pipeline-model-parallel-size': 1,
  '--context-parallel-size': 1,
  '--expert-model-parallel-size': 1,
  '--expert-tensor-parallel-size': 1,
  '--recompute-granularity': 'full',
  '--recompute-method': 'uniform',
  '--recompute-num-layers': 1,
  '--use-dynamic-batch-size': true,
  '--max-tokens-per-gpu': 9216,
  '--rollout-num-gpus-per-engine': 2,
  '--attention-dropout': '0.0',
  '--hidden-dropout': '0.0',
  '--accumulate-allreduce-grads-in-fp32': true,
  '--attention-softmax-in-fp32': true,
  '--attention-backend': 'flash',
  '--skip-eval-before-train': true,
  '--colocate': true,
};

/** A reference's own training script: where it was read, its flags, and why we leave some of them out. */
export interface ReferenceScript {
  script: string;
  flags: Values;
  leftOut: Readonly<Record<string, string>>;
}

/** The scripts for Qwen3-4B on eight GPUs. */
export const REFERENCE_SCRIPTS: Readonly<Record<Flavour, ReferenceScript>> = {
  relax: {
    script: 'redai-infra/Relax examples/mem_agent/run-qwen3-4B-train.sh at 36f28d27',
    flags: {
      ...BOTH,
      '--resource': '{"actor":[1,8],"rollout":[1,8]}',
      '--megatron-to-hf-mode': 'bridge',
      '--max-actor-ckpt-to-keep': 3,
      '--metadata-key': 'metadata',
      '--custom-rm-path': 'examples.mem_agent.reward.reward_func',
      '--custom-convert-samples-to-train-data-path': 'examples.mem_agent.convert.convert_samples',
      '--custom-config-path': OWN,
      '--rollout-max-response-len': 1024,
      '--rollout-max-context-len': 8192,
      '--rollout-seed': 42,
      '--entropy-coef': 0,
      '--log-probs-max-tokens-per-gpu': 32768,
      '--sglang-mem-fraction-static': 0.7,
      '--seed': 1234,
      '--max-staleness': 0,
      '--num-data-storage-units': 1,
      '--use-health-check': true,
    },
    leftOut: {
      '--log-probs-max-tokens-per-gpu':
        'packing of forward passes, no effect on results; without it cluster.tokensPerGpu holds there too, as in the other arm',
      '--use-health-check':
        'restarts inside a job would repeat steps in one log; here a job that fails is followed by a new one from its checkpoint',
    },
  },
  vime: {
    script: 'vllm-project/vime examples/mem_agent/_common.sh at 0a6153c9 with scripts/models/qwen3-4B.sh at 790ea11e',
    flags: {
      ...BOTH,
      '--train-backend': 'megatron',
      '--rotary-base': 5000000,
      '--custom-rm-path': 'examples.mem_agent.rollout.reward_func',
      '--custom-convert-samples-to-train-data-path': 'examples.mem_agent.custom_convert.custom_convert',
      '--rollout-function-path': 'vime.rollout.vllm_rollout.generate_rollout',
      '--rollout-max-response-len': 8192,
      '--rollout-max-context-len': 32768,
      '--vllm-gpu-memory-utilization': 0.7,
      '--vllm-max-model-len': 32768,
      '--router-policy': 'consistent_hash',
      '--actor-num-nodes': 1,
      '--actor-num-gpus-per-node': 8,
    },
    leftOut: {},
  },
};
