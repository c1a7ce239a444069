import type { Qwen3Config } from '../policy-api.js';
import type { Offset } from '../kernels/kernels.js';
import type { Arena } from './arena.js';

/** One named weight and where it lies. */
export interface Parameter {
  name: string;
  shape: readonly number[];
  length: number;
  offset: Offset;
}

/** All weights in one block: first the matrices, then the 1-D tensors, so that decay and no decay are two ranges. */
export interface ParameterBlock {
  /** In Hugging Face's order. */
  list: readonly Parameter[];
  byName: ReadonlyMap<string, Parameter>;
  start: Offset;
  length: number;
  /** Floats of the matrices (decayed); the rest is not decayed. */
  matrixLength: number;
}

/** Names and shapes of a Qwen3ForCausalLM, in the order of `named_parameters()`. */
export function parameterShapes(config: Qwen3Config): { name: string; shape: number[] }[] {
  const { hiddenSize, heads, kvHeads, headDim, intermediateSize, vocabSize } = config;
  const shapes = [{ name: 'model.embed_tokens.weight', shape: [vocabSize, hiddenSize] }];
  for (let layer = 0; layer < config.layers; layer += 1) {
    const add = (name: string, ...shape: number[]): number =>
      shapes.push({ name: `model.layers.${layer}.${name}.weight`, shape });
    add('self_attn.q_proj', heads * headDim, hiddenSize);
    add('self_attn.k_proj', kvHeads * headDim, hiddenSize);
    add('self_attn.v_proj', kvHeads * headDim, hiddenSize);
    add('self_attn.o_proj', hiddenSize, heads * headDim);
    add('self_attn.q_norm', headDim);
    add('self_attn.k_norm', headDim);
    add('mlp.gate_proj', intermediateSize, hiddenSize);
    add('mlp.up_proj', intermediateSize, hiddenSize);
    add('mlp.down_proj', hiddenSize, intermediateSize);
    add('input_layernorm', hiddenSize);
    add('post_attention_layernorm', hiddenSize);
  }
  shapes.push({ name: 'model.norm.weight', shape: [hiddenSize] });
  if (!config.tied) shapes.push({ name: 'lm_head.weight', shape: [vocabSize, hiddenSize] });
  return shapes;
}

/** Number of weights of a shape. */
export function parameterCount(config: Qwen3Config): number {
  return parameterShapes(config).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
}

/** Reserves the block. k and v of a layer lie side by side, and so do gate and up: each pair is one matrix product. */
export function planParameters(config: Qwen3Config, arena: Arena): ParameterBlock {
  const shapes = parameterShapes(config);
  const byName = new Map<string, Parameter>();
  const total = parameterCount(config);
  const start = arena.take(total);
  let next = start;
  const place = (wanted: (shape: number[]) => boolean): void => {
    for (const { name, shape } of shapes.filter((entry) => wanted(entry.shape))) {
      const length = shape.reduce((a, b) => a * b, 1);
      byName.set(name, { name, shape, length, offset: next });
      next += length;
    }
  };
  place((shape) => shape.length > 1);
  const matrixLength = next - start;
  place((shape) => shape.length === 1);
  return { list: shapes.map(({ name }) => byName.get(name)!), byName, start, length: total, matrixLength };
}
