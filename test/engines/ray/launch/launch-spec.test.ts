import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { compareFlags } from '../../../../engines/ray/launch/compare-flags.js';
import { launchFlags, launchNotes, launchSpec } from '../../../../engines/ray/launch/launch-spec.js';
import { modelShape } from '../../../../engines/ray/launch/model-shape.js';
import { shellQuote } from '../../../../engines/ray/launch/shell.js';
import type { LaunchFacts } from '../../../../engines/ray/types.js';
import type { Recipe } from '../../../../shared/contracts/recipe.js';
import { PipelineError } from '../../../../shared/contracts/pipeline-error.js';
import { changedRecipe, type RawRecipe } from '../support.js';

const FACTS: LaunchFacts = {
  saveDir: '/shared/runs/x/arms/a/checkpoints',
  trainData: '/shared/runs/x/data/train.jsonl',
  modelDir: '/shared/models/base',
  numRollout: 100,
  resume: undefined,
  dumpDir: '/shared/runs/x/arms/a/job',
};
const unchanged = () => undefined;

/** A job, one flag a line. */
function readable(recipe: Recipe, arm: string): string {
  const { entrypoint, ...rest } = launchSpec(recipe, arm, 'train', FACTS);
  return `${entrypoint.replaceAll(' --', '\n  --')}\n${JSON.stringify(rest, null, 2)}\n`;
}

describe('the job of an arm', () => {
  it.each([
    ['qwen3-4b', 'relax'],
    ['qwen3-4b', 'vime'],
    ['qwen3-0.6b', 'relax'],
    ['qwen3-0.6b', 'vime'],
  ])('of %s, %s, is known word by word', async (name, arm) => {
    const text = readable(await changedRecipe(name, unchanged), arm);
    await expect(text).toMatchFileSnapshot(`../../../fixtures/launch/${name}-${arm}.txt`);
  });

  it('has every setting of the recipe that its framework can have', async () => {
    const recipe = await changedRecipe('qwen3-4b', (raw) => {
      raw['grpo'] = {
        ...{ steps: 7, promptsPerStep: 3, groupSize: 5, learningRate: 2e-5, adamBetas: [0.8, 0.9], adamEpsilon: 1e-9 },
        ...{ weightDecay: 0.2, gradientClip: 0.5, klCoefficient: 0.01, clip: [0.1, 0.4], stdNormalization: false },
        ...{ lossReduction: 'token_mean', temperature: 0.8, topP: 0.9, seed: 1, rolloutSeed: 2, checkpointEvery: 3 },
        rowsMultiple: 8,
      };
      Object.assign(raw.cluster, { gpus: 16, tensorParallel: 4, tokensPerGpu: 4096, env: { NCCL_DEBUG: 'INFO' } });
    });
    for (const arm of ['relax', 'vime']) {
      const { entrypoint, runtimeEnv } = launchSpec(recipe, arm, 'train', { ...FACTS, numRollout: 7 });
      for (const part of [
        '--num-rollout 7 --rollout-batch-size 3 --n-samples-per-prompt 5',
        '--global-batch-size 15',
        '--rollout-temperature 0.8 --rollout-top-p 0.9 --rollout-seed 2',
        '--lr 2e-5',
        '--weight-decay 0.2 --adam-beta1 0.8 --adam-beta2 0.9 --adam-eps 1e-9 --clip-grad 0.5',
        '--kl-loss-coef 0.01',
        '--eps-clip 0.1 --eps-clip-high 0.4 --disable-grpo-std-normalization --calculate-per-token-loss',
        '--tensor-model-parallel-size 4 --sequence-parallel',
        '--max-tokens-per-gpu 4096',
        '--rollout-num-gpus-per-engine 4',
        '--seed 1 ',
        '--save-interval 3',
      ])
        expect(entrypoint).toContain(part);
      expect(entrypoint).toContain(
        arm === 'relax' ? '"actor":[1,16]' : '--actor-num-nodes 2 --actor-num-gpus-per-node 8'
      );
      expect(runtimeEnv.env_vars).toMatchObject({ NCCL_DEBUG: 'INFO', RAY_DEDUP_LOGS: '0' });
    }
  });

  it('of Relax has capacity for every turn, and groups rows that are normalized by one', async () => {
    const recipe = await changedRecipe('qwen3-4b', unchanged);
    const [config] = launchSpec(recipe, 'relax', 'train', FACTS).files ?? [];
    expect(parse(config?.text ?? '')).toEqual({
      ...{ mem_agent_chunk_tokens: 2048, mem_agent_max_memory_tokens: 1024, mem_agent_max_final_tokens: 256 },
      ...{ mem_agent_max_chunks: 64, mem_agent_credit_assignment: 'split', mem_agent_strict_alignment: true },
      ...{
        custom_train_sample_expansion_factor: 65,
        custom_train_data_group_size: 1,
        custom_train_expanded_batch: true,
      },
      ...{ mem_agent_train_rows_multiple: 4, model_id: 'Qwen/Qwen3-4B' },
      model_revision: '1cfa9a7208912126459214e8b04321603b3df60c',
    });
  });

  it('goes on from the checkpoint that was found complete: the tracker file names it', async () => {
    const recipe = await changedRecipe('qwen3-4b', unchanged);
    const resume = { dir: '/shared/save', step: 49 };
    for (const arm of ['relax', 'vime']) {
      const spec = launchSpec(recipe, arm, 'train', { ...FACTS, resume });
      expect(spec.entrypoint).toContain('--load /shared/save --start-rollout-id 50');
      expect(spec.files).toContainEqual({ path: '/shared/save/latest_checkpointed_iteration.txt', text: '49' });
    }
  });

  it('counts VIME’s turns in the smoke gate only', async () => {
    const recipe = await changedRecipe('qwen3-4b', unchanged);
    const env = (phase: 'smoke' | 'train') => launchSpec(recipe, 'vime', phase, FACTS).runtimeEnv.env_vars;
    expect(env('smoke')).toMatchObject({ MEM_DEBUG: '1', MEM_MAX_CHUNKS: '64' });
    expect(env('train')).not.toHaveProperty('MEM_DEBUG');
  });

  it.each<[string, string, (raw: RawRecipe) => void, RegExp]>([
    ['an arm that is not there', 'slime', unchanged, /no arm is named “slime”; known are relax, vime/],
    [
      'shared credit in VIME',
      'vime',
      (raw) => Object.assign(raw['grpo'] as object, { credit: 'share' }),
      /always splits/,
    ],
    ['GPUs that are not shared', 'relax', (raw) => Object.assign(raw.cluster, { colocated: false }), /share the GPUs/],
    ['stale weights in VIME', 'vime', (raw) => Object.assign(raw.cluster, { staleness: 1 }), /expected 0/],
  ])('is refused for %s', async (_what, arm, change, says) => {
    const recipe = await changedRecipe('qwen3-4b', change);
    expect(() => launchSpec(recipe, arm, 'train', FACTS)).toThrow(says);
    expect(() => launchSpec(recipe, arm, 'train', FACTS)).toThrow(PipelineError);
  });

  it('says what of the recipe its framework cannot do', async () => {
    const recipe = await changedRecipe('qwen3-0.6b', unchanged);
    expect(launchNotes(recipe, 'relax')).toEqual([]);
    expect(launchNotes(recipe, 'vime')).toEqual([expect.stringContaining('memory.enableThinking')]);
  });
});

describe('beside the reference’s own script', () => {
  it.each(['relax', 'vime'] as const)('every flag of %s has a verdict and a reason', async (arm) => {
    const recipe = await changedRecipe('qwen3-4b', unchanged);
    const compared = compareFlags(launchFlags(recipe, arm, FACTS), arm);
    expect(
      compared.filter(({ because }) => because === 'fixed' || because === '').map(({ verdict }) => verdict)
    ).not.toContain('added');
    expect(compared.filter(({ verdict }) => verdict !== 'equal').map(({ name, verdict }) => [name, verdict])).toEqual(
      arm === 'relax'
        ? [
            ['--adam-eps', 'added'],
            ['--clip-grad', 'added'],
            ['--log-probs-max-tokens-per-gpu', 'left out'],
            ['--use-health-check', 'left out'],
          ]
        : [
            ['--rotary-base', 'changed'],
            ['--megatron-to-hf-mode', 'added'],
            ['--rollout-max-response-len', 'changed'],
            ['--rollout-max-context-len', 'changed'],
            ['--rollout-seed', 'added'],
            ['--adam-eps', 'added'],
            ['--clip-grad', 'added'],
            ['--entropy-coef', 'added'],
            ['--vllm-max-model-len', 'changed'],
            ['--seed', 'added'],
          ]
    );
    expect(new Set(compared.map(({ name }) => name)).size).toBe(compared.length);
  });
});

describe('the shape of a model', () => {
  it('is what its folder says, also where the id is known', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'memagent-shape-'));
    await writeFile(
      join(folder, 'config.json'),
      JSON.stringify({
        ...{
          model_type: 'qwen3',
          num_hidden_layers: 2,
          hidden_size: 64,
          intermediate_size: 192,
          num_attention_heads: 4,
        },
        ...{ num_key_value_heads: 2, head_dim: 32, vocab_size: 512, rope_theta: 10000, rms_norm_eps: 1e-6 },
        tie_word_embeddings: false,
      })
    );
    expect(modelShape(folder, 'Qwen/Qwen3-4B')).toMatchObject({ layers: 2, ropeBase: 10000, tiedHead: false });
    await writeFile(join(folder, 'config.json'), '{"model_type": "llama", "hidden_size": "big"}');
    expect(() => modelShape(folder, undefined)).toThrow(/expected "qwen3", found "llama"; num_hidden_layers/);
    await rm(folder, { recursive: true });
    expect(() => modelShape(folder, 'some/model')).toThrow(/is not known/);
  });
});

describe('words for a shell', () => {
  it('come back unchanged from a real one', () => {
    const words = ['plain', '', 'two words', "it's", '$HOME `id` "x" \\', 'a\nb', '*?[]{}~!#&;|<>()', 'ü', '--flag=1'];
    const command = `printf '%s\\0' ${words.map(shellQuote).join(' ')}`;
    const back = execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8' });
    expect(back.split('\0').slice(0, -1)).toEqual(words);
  });
});
