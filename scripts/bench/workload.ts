import { PolicyTurns } from '../../engines/embedded/base/policy-turns.js';
import { PromptWriter } from '../../engines/embedded/base/prompt-writer.js';
import { LAPTOP_LIMITS } from '../../engines/embedded/base/measure.js';
import type { Policy, PolicyRow, Qwen3Config } from '../../engines/embedded/policy-api.js';
import { laptopItem, type LaptopItem } from '../../shared/data/laptop-generator.js';
import { groupAdvantages } from '../../shared/grpo/advantages.js';
import { chunkContext } from '../../shared/memory/chunking.js';
import { NO_MEMORY } from '../../shared/memory/prompts.js';
import { runTrajectory } from '../../shared/memory/recurrent-loop.js';
import { scoreTrajectory } from '../../shared/scoring/reward.js';
import type { Tokenizer } from '../../shared/tokenizer/types.js';

/** Shape of one step of the laptop recipe. */
const PROMPTS = 8;
const GROUP = 8;
const CHUNKS = 4;
const FACTS = 8;
const SEED = 3;

/** What both sides of the benchmark work on: token ids, so that neither has an easier task. */
export interface Workload {
  modelDir: string;
  config: Qwen3Config;
  /** Rows of one GRPO step, by turn: really sampled from the base, with its log-probs and the frozen base's. */
  turns: Required<PolicyRow>[][];
  /** Different memory prompts, for prefill. */
  prompts: number[][];
  /** Beginnings of prompts that are continued by `newTokens` each, for sampling. */
  openings: number[][];
  newTokens: number;
}

const PREFILL_PROMPTS = 256;
const OPENINGS = 64;
const OPENING_TOKENS = 12;
const NEW_TOKENS = 64;

/** Tokens that each task is counted in. */
export function taskTokens({ turns, prompts, openings, newTokens }: Workload): Record<TaskName, number> {
  const rows = turns.flat().reduce((sum, { tokens }) => sum + tokens.length, 0);
  const sampled = openings.length * newTokens;
  const prefilled = prompts.reduce((sum, { length }) => sum + length, 0);
  return { train: rows, score: rows, prefill: prefilled, sample: sampled, sample_top_p: sampled, step: rows };
}

/** Names are those of the Python side's methods. */
export const TASKS = ['train', 'score', 'prefill', 'sample', 'sample_top_p', 'step'] as const;
export type TaskName = (typeof TASKS)[number];

/** One rollout of 8 × 8 trajectories with the base, and prompts of its kind. */
export async function makeWorkload(policy: Policy, tokenizer: Tokenizer, modelDir: string): Promise<Workload> {
  const turns = new PolicyTurns(policy, tokenizer.eosTokenIds, { temperature: 1, topP: 1, seed: SEED });
  const trajectories = await Promise.all(
    Array.from({ length: PROMPTS * GROUP }, (_, index) =>
      trajectory(tokenizer, turns, task(Math.floor(index / GROUP), CHUNKS), index)
    )
  );
  const advantages = Array.from({ length: PROMPTS }, (_, group) =>
    groupAdvantages(
      trajectories.slice(group * GROUP, (group + 1) * GROUP).map(({ score }) => score),
      { flavour: 'relax', rewardsNormalization: true, stdNormalization: true }
    )
  ).flat();
  const writer = new PromptWriter(tokenizer);
  const prompts = Array.from({ length: PREFILL_PROMPTS }, (_, index) => {
    const { question, context } = task(PROMPTS + index, 1);
    return writer.memory({ question, memory: NO_MEMORY, chunk: context, evaluation: false });
  });
  return {
    modelDir,
    config: policy.config,
    turns: Array.from({ length: CHUNKS + 1 }, (_, turn) =>
      trajectories.map((one, index) => row(one.turns[turn]!, advantages[index]! / (CHUNKS + 1)))
    ),
    prompts,
    openings: prompts.slice(0, OPENINGS).map((prompt) => prompt.slice(0, OPENING_TOKENS)),
    newTokens: NEW_TOKENS,
  };
}

function task(index: number, chunks: number): LaptopItem {
  return laptopItem({ seed: SEED, set: 'train', chunks, factsPerChunk: FACTS, index });
}

type Trajectory = Awaited<ReturnType<typeof trajectory>>;

async function trajectory(tokenizer: Tokenizer, turns: PolicyTurns, item: LaptopItem, index: number) {
  const result = await runTrajectory(
    {
      question: item.question,
      context: chunkContext(tokenizer, item.context.trim(), LAPTOP_LIMITS),
      limits: LAPTOP_LIMITS,
      flavour: 'relax',
      evaluation: false,
    },
    { tokenizer, generate: turns.generator(index) }
  );
  if (result.error !== undefined) throw result.error;
  const { score } = scoreTrajectory('relax', { finalOutput: result.finalOutput, label: item.answer });
  return { turns: result.turns, score };
}

/** The frozen base sampled the rows, so its log-probs are the recorded ones. */
function row(turn: Trajectory['turns'][number], advantage: number): Required<PolicyRow> {
  const { tokens, responseLength, lossMask, rolloutLogProbs } = turn;
  return {
    tokens,
    responseLength,
    lossMask,
    oldLogProbs: rolloutLogProbs,
    refLogProbs: rolloutLogProbs,
    advantage,
  };
}
