/**
 * Makes the laptop recipe's base model: tokenizer, initialization, pre-training, measurement, model card.
 *
 * Usage: node dist/scripts/make-base.js [folder] [seed]   (default models/laptop, the committed model's seed)
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { hashFile, writeFileAtomic } from '../shared/artifacts/atomic-file.js';
import { packageRoot } from '../shared/runtime/entry.js';
import { loadTokenizer } from '../shared/tokenizer/tokenizer.js';
import type { Tokenizer } from '../shared/tokenizer/types.js';
import { inductionInit } from '../engines/embedded/base/initialization.js';
import { measure, type Measured } from '../engines/embedded/base/measure.js';
import { type CardFacts, modelCard } from '../engines/embedded/base/model-card.js';
import { BASE_RECIPE, type BaseRecipe, pretrain } from '../engines/embedded/base/pretrain.js';
import { PromptWriter } from '../engines/embedded/base/prompt-writer.js';
import type { Policy, Qwen3Config } from '../engines/embedded/policy-api.js';
import { createPolicy, writeQwen3 } from '../engines/embedded/policy.js';
import { END_ID, PAD_ID, VOCABULARY_SIZE, writeTokenizer } from '../engines/embedded/tokenizer/build.js';

const COMMITTED = join(packageRoot(), 'models/laptop');

const CONFIG: Qwen3Config = {
  vocabSize: VOCABULARY_SIZE,
  hiddenSize: 64,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 32,
  intermediateSize: 192,
  ropeTheta: 10_000,
  rmsNormEps: 1e-6,
  tied: true,
  maxPositions: 1024,
};

/** Longest sequence while the base is made: the laptop recipe's context. */
const MAX_SEQUENCE = 128;
const MEASURED_ITEMS = 512;
const MEASURED_CHUNKS = [4, 8, 16];
const MEASURE_SEED = 1;

/** Success at 4 chunks that leaves room to learn and something to learn from (shares). */
const WANTED = { sampled: [0.15, 0.35], greedy: [0.25, 0.65] } as const;

async function main(): Promise<void> {
  const folder = resolve(process.argv[2] ?? COMMITTED);
  const recipe = { ...BASE_RECIPE, seed: Number(process.argv[3] ?? BASE_RECIPE.seed) };
  const before = await sha256Of(join(COMMITTED, 'model.safetensors'));
  await writeTokenizer(folder, CONFIG.maxPositions);
  const tokenizer = await loadTokenizer(folder);
  const policy = await createPolicy({
    config: CONFIG,
    tensors: inductionInit(CONFIG, recipe.seed),
    maxSequence: MAX_SEQUENCE,
  });
  const spent = train(policy, tokenizer, recipe);
  await writeQwen3(folder, { config: CONFIG, tensors: policy.weights(), tokens: { eos: END_ID, pad: PAD_ID } });
  const facts: CardFacts = {
    recipe,
    config: CONFIG,
    parameters: policy.weights().reduce((sum, { data }) => sum + data.length, 0),
    ...spent,
    hashes: {
      model: (await hashFile(join(folder, 'model.safetensors'))).sha256,
      tokenizer: (await hashFile(join(folder, 'tokenizer.json'))).sha256,
    },
    sampled: await measureAll(policy, tokenizer, 1),
    greedy: await measureAll(policy, tokenizer, 0),
    items: MEASURED_ITEMS,
  };
  await writeCard(join(folder, 'README.md'), facts);
  const { model } = facts.hashes;
  console.log(
    `model.safetensors ${model}: ${model === before ? 'the committed bytes' : `not the committed ${before}`}`
  );
  checkRange('sampled', facts.sampled);
  checkRange('greedy', facts.greedy);
}

function train(policy: Policy, tokenizer: Tokenizer, recipe: BaseRecipe): { tokens: number; cpuSeconds: number } {
  const before = process.cpuUsage().user;
  const tokens = pretrain(policy, new PromptWriter(tokenizer), recipe, ({ step, loss, tokens: seen }) => {
    if ((step + 1) % 50 === 0) console.log(`step ${step + 1}/${recipe.steps}  loss ${loss.toFixed(3)}  tokens ${seen}`);
  });
  return { tokens, cpuSeconds: (process.cpuUsage().user - before) / 1e6 };
}

/** The time spent differs from run to run: the card of an equal model stays as it is. */
async function writeCard(path: string, facts: CardFacts): Promise<void> {
  if (existsSync(path) && readFileSync(path, 'utf8').includes(facts.hashes.model)) return;
  await writeFileAtomic(path, modelCard(facts));
}

async function sha256Of(path: string): Promise<string | undefined> {
  return existsSync(path) ? (await hashFile(path)).sha256 : undefined;
}

async function measureAll(policy: Policy, tokenizer: Tokenizer, temperature: number): Promise<Map<number, Measured>> {
  const all = new Map<number, Measured>();
  for (const chunks of MEASURED_CHUNKS) {
    const options = { items: MEASURED_ITEMS, chunks, temperature, topP: 1, seed: MEASURE_SEED };
    const measured = await measure(policy, tokenizer, options);
    all.set(chunks, measured);
    const kind = temperature === 0 ? 'greedy ' : 'sampled';
    console.log(`${kind} success at ${chunks} chunks: ${(100 * measured.success).toFixed(1)} %`);
  }
  return all;
}

function checkRange(kind: keyof typeof WANTED, measured: ReadonlyMap<number, Measured>): void {
  const [low, high] = WANTED[kind];
  const success = measured.get(MEASURED_CHUNKS[0]!)?.success ?? 0;
  if (success >= low && success <= high) return;
  console.error(
    `${kind} success at ${MEASURED_CHUNKS[0]} chunks is ${success.toFixed(3)}, wanted ${low} to ${high}: try another seed`
  );
  process.exitCode = 1;
}

await main();
