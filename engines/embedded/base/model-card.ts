import type { BaseRecipe } from './pretrain.js';
import type { Measured } from './measure.js';
import type { Qwen3Config } from '../policy-api.js';

export interface CardFacts {
  recipe: BaseRecipe;
  config: Qwen3Config;
  parameters: number;
  tokens: number;
  cpuSeconds: number;
  /** SHA-256 of model.safetensors and tokenizer.json. */
  hashes: { model: string; tokenizer: string };
  /** Success by number of chunks. */
  sampled: ReadonlyMap<number, Measured>;
  greedy: ReadonlyMap<number, Measured>;
  items: number;
}

/** The model card: README.md of the model's folder. */
export function modelCard(facts: CardFacts): string {
  return `${frontMatter}${introduction(facts)}${results(facts)}${making(facts)}${LIMITS}`;
}

const frontMatter = `---
license: apache-2.0
library_name: transformers
pipeline_tag: text-generation
tags: [qwen3, memory, grpo, base]
---

`;

function introduction({ config, parameters }: CardFacts): string {
  return `# The laptop base

The frozen base policy of the recipe \`laptop\`: a \`Qwen3ForCausalLM\` of ${parameters.toLocaleString('en-US')} parameters (${config.layers} layers, hidden size
${config.hiddenSize}, ${config.heads} heads, ${config.kvHeads} key/value heads of ${config.headDim}, SwiGLU ${config.intermediateSize}, tied head, vocabulary ${config.vocabSize}, float32). It plays the part that Qwen3-4B plays in the
full recipe: the same prompts, chat template, recurrent loop, files and code path, small enough for two processor cores.

## Task
A context is a list of facts (\`amber=47;\`, one a line, 64 keys, 100 values, drawn anew for every context). The question names one key. The
model reads the context in chunks of 8 facts, keeps a memory (\`amber=47\`, or \`amber=?\` while the fact was not seen), and answers from the memory
alone: \`\\boxed{47}\`. Nothing about a context can be known in advance, so only reading and remembering scores.

`;
}

function results({ sampled, greedy, items }: CardFacts): string {
  const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
  const rows = [...sampled].map(([chunks, { success, ended }]) => {
    return `| ${chunks} | ${percent(success)} | ${percent(greedy.get(chunks)?.success ?? NaN)} | ${percent(ended)} |`;
  });
  return `## What it can do
Success on ${items} unseen items (evaluation prompts, at most 16 new tokens for a memory and 8 for an answer):

| chunks | sampled, temperature 1 | greedy | turns ended by the model |
| --- | --- | --- | --- |
${rows.join('\n')}

It finds and copies facts, but it was taught to be careless: in training, half of the known facts were lost from the memory. That is the room which
reinforcement learning has, and it is there in greedy decoding too, not only in the sharpness of the distribution.

`;
}

function making({ recipe, tokens, cpuSeconds, hashes }: CardFacts): string {
  return `## How it was made
\`npm run build:base\` makes it again, with the same bytes on the same machine (float32 arithmetic without fused multiply-add; another processor may round
exponentials alike, but this was not tried).

- **Initialization**: an induction-head initialization, by construction and not by training: head 0 of layer 0 attends to the previous token and passes it on, head 0
  of layer 1 attends to the place where the current token stood before. Plain random weights did not learn to bind values to keys within this many tokens.
  Copying the value out, gating, format and "unknown" are learned.
- **Data**: generated on the fly, ${recipe.recallRows} rows of associative recall and ${recipe.turnRows} turns of the task (2 to 12 facts, both prompt variants) in each step; noise ${recipe.carelessness}: the share of
  known facts whose memory target is "unknown".
- **Training**: seed ${recipe.seed}, ${recipe.steps} steps, ${tokens.toLocaleString('en-US')} tokens, AdamW ${recipe.learningRate} (betas ${recipe.betas.join('/')}, decay ${recipe.weightDecay} on matrices), warm-up ${recipe.warmupSteps} steps, cosine to ${100 * recipe.finalRate} %, gradient
  clip ${recipe.gradientClip}; ${Math.round(cpuSeconds)} CPU-seconds on one core.
- SHA-256 of \`model.safetensors\`: \`${hashes.model}\`
- SHA-256 of \`tokenizer.json\`: \`${hashes.tokenizer}\` (byte-level BPE without merges; the fixed passages of the prompts, keys and values are one token each)

`;
}

const LIMITS = `## What it cannot do
It is no language model: it has seen nothing but this task, cannot answer anything else, and its figures say nothing about the methods on real data. It was
trained on sequences of at most 72 tokens; prompts of other forms or far longer chunks are outside what it knows.
`;
