import type { AttentionShape, KernelKind, Kernels, Linear, Offset, RopeTable } from '../kernels/kernels.js';
import { keyValueFloats, linearPanelFloats, roundUp, scratchFloats } from '../kernels/sizes.js';
import { createKernels, RESERVED_FLOATS } from '../kernels/load.js';
import type { Qwen3Config } from '../policy-api.js';
import { Arena } from './arena.js';
import { type ParameterBlock, planParameters } from './parameters.js';
import { fillRopeTable } from './rope.js';
import { planWorkspace, type Workspace } from './workspace.js';

/** Gradient buffers that packs of rows are dealt to in turn; fixed, so that the number of threads never changes a bit. */
export const GRADIENT_LANES = 2;

export interface LayerWeights {
  q: Linear;
  /** k_proj and v_proj, one above the other. */
  kv: Linear;
  o: Linear;
  /** gate_proj and up_proj, one above the other. */
  gateUp: Linear;
  down: Linear;
  inputNorm: Offset;
  postNorm: Offset;
  qNorm: Offset;
  kNorm: Offset;
}

/** Weights, gradients, optimizer moments and buffers of one policy, all in one heap. */
export interface Model {
  config: Qwen3Config;
  kernels: Kernels;
  attention: AttentionShape;
  parameters: ParameterBlock;
  layers: LayerWeights[];
  embedding: Offset;
  head: Linear;
  finalNorm: Offset;
  rope: RopeTable;
  /** Start of each gradient lane, laid out as the parameters. */
  gradients: Offset[];
  firstMoments: Offset;
  secondMoments: Offset;
  workspace: Workspace;
  /** Start of the key/value caches. */
  caches: Offset;
}

export interface ModelLimits {
  maxSequence: number;
  maxBatch: number;
  /** Key/value caches of generation. */
  slots: number;
}

function planLinear(arena: Arena, weight: Offset, outputs: number, inputs: number): Linear {
  const floats = linearPanelFloats(outputs, inputs);
  return { inputs, outputs, weight, forwardPanels: arena.take(floats), backwardPanels: arena.take(floats) };
}

function planLayers(config: Qwen3Config, parameters: ParameterBlock, arena: Arena): LayerWeights[] {
  const { hiddenSize, heads, kvHeads, headDim, intermediateSize } = config;
  return Array.from({ length: config.layers }, (_, layer) => {
    const at = (name: string): Offset => parameters.byName.get(`model.layers.${layer}.${name}.weight`)!.offset;
    return {
      q: planLinear(arena, at('self_attn.q_proj'), heads * headDim, hiddenSize),
      kv: planLinear(arena, at('self_attn.k_proj'), 2 * kvHeads * headDim, hiddenSize),
      o: planLinear(arena, at('self_attn.o_proj'), hiddenSize, heads * headDim),
      gateUp: planLinear(arena, at('mlp.gate_proj'), 2 * intermediateSize, hiddenSize),
      down: planLinear(arena, at('mlp.down_proj'), hiddenSize, intermediateSize),
      inputNorm: at('input_layernorm'),
      postNorm: at('post_attention_layernorm'),
      qNorm: at('self_attn.q_norm'),
      kNorm: at('self_attn.k_norm'),
    };
  });
}

/** Floats of one generation slot: every layer's keys and values up to the longest sequence. */
export function slotFloats({ layers, heads, kvHeads, headDim }: Qwen3Config, maxSequence: number): number {
  return layers * keyValueFloats({ heads, kvHeads, headDim }, roundUp(maxSequence, 8));
}

function planScratch(config: Qwen3Config, rows: number, sequence: number, arena: Arena): Offset {
  const { hiddenSize, intermediateSize, heads, headDim } = config;
  const widestInput = Math.max(hiddenSize, intermediateSize, heads * headDim);
  return arena.take(scratchFloats({ rows, widestInput, sequence, headDim }));
}

/** Reserves all memory at once and makes the kernels over it. Weights are zero until set. */
export async function createModel(config: Qwen3Config, limits: ModelLimits, kind: KernelKind): Promise<Model> {
  const arena = new Arena(RESERVED_FLOATS);
  const parameters = planParameters(config, arena);
  const gradients = Array.from({ length: GRADIENT_LANES }, () => arena.take(parameters.length));
  const firstMoments = arena.take(parameters.length);
  const secondMoments = arena.take(parameters.length);
  const layers = planLayers(config, parameters, arena);
  const embedding = parameters.byName.get('model.embed_tokens.weight')!.offset;
  const headWeight = parameters.byName.get('lm_head.weight')?.offset ?? embedding;
  const head = planLinear(arena, headWeight, config.vocabSize, config.hiddenSize);
  const half = config.headDim / 2;
  const rope = { cos: arena.take(limits.maxSequence * half), sin: arena.take(limits.maxSequence * half) };
  const workspace = planWorkspace(config, limits, arena);
  const scratch = planScratch(config, workspace.rows, limits.maxSequence, arena);
  const caches = arena.take(limits.slots * slotFloats(config, limits.maxSequence));
  const kernels = await createKernels(kind, arena.size, scratch);
  fillRopeTable(kernels.heap, rope, config, limits.maxSequence);
  const { heads, kvHeads, headDim } = config;
  return {
    config,
    kernels,
    attention: { heads, kvHeads, headDim },
    parameters,
    layers,
    embedding,
    head,
    finalNorm: parameters.byName.get('model.norm.weight')!.offset,
    rope,
    gradients,
    firstMoments,
    secondMoments,
    workspace,
    caches,
  };
}

/** Call after any weight changed: the kernels keep copies in their own layout. */
export function refreshWeights({ kernels, layers, head }: Model): void {
  for (const layer of layers)
    for (const linear of [layer.q, layer.kv, layer.o, layer.gateUp, layer.down]) kernels.refreshLinear(linear);
  kernels.refreshLinear(head);
}
