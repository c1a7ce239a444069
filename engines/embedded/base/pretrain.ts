import { PhiloxStream } from '../../../shared/random/philox.js';
import type { OptimizerOptions, Policy, SupervisedRow } from '../policy-api.js';
import type { PromptWriter } from './prompt-writer.js';
import { type BaseRow, recallRow, turnRow } from './rows.js';

/** How the base is trained. The defaults are those of the committed model; every one of them changes it. */
export interface BaseRecipe {
  seed: number;
  steps: number;
  /** Rows of associative recall in each step; without them some seeds do not learn to bind values to keys. */
  recallRows: number;
  /** Rows of the task in each step. */
  turnRows: number;
  /** Share of known facts that the memory is taught to lose: what is left for reinforcement learning. */
  carelessness: number;
  learningRate: number;
  warmupSteps: number;
  /** Learning rate at the end, as a share of the highest. */
  finalRate: number;
  betas: readonly [number, number];
  weightDecay: number;
  gradientClip: number;
}

export const BASE_RECIPE: BaseRecipe = {
  seed: 11,
  steps: 1000,
  recallRows: 16,
  turnRows: 32,
  carelessness: 0.5,
  learningRate: 2e-3,
  warmupSteps: 50,
  finalRate: 0.05,
  betas: [0.9, 0.98],
  weightDecay: 0.01,
  gradientClip: 1,
};

const ROWS_STREAM = 3;

export interface BaseProgress {
  step: number;
  /** Cross-entropy of this step's rows: recall and turns, nats a token, added up. */
  loss: number;
  tokens: number;
}

/** Trains `policy` in place; a function of the recipe and of the weights it starts from. @returns tokens seen */
export function pretrain(
  policy: Policy,
  prompts: PromptWriter,
  recipe: BaseRecipe,
  onStep?: (progress: BaseProgress) => void
): number {
  let tokens = 0;
  for (let step = 0; step < recipe.steps; step += 1) {
    const random = new PhiloxStream(recipe.seed, [ROWS_STREAM, step, 0]);
    const rows = stepRows(random, prompts, recipe);
    tokens += rows.reduce((sum, row) => sum + row.tokens.length, 0);
    const { loss } = policy.supervisedStep(rows, optimizerAt(recipe, step));
    onStep?.({ step, loss, tokens });
  }
  return tokens;
}

function stepRows(random: PhiloxStream, prompts: PromptWriter, recipe: BaseRecipe): SupervisedRow[] {
  const recall = Array.from({ length: recipe.recallRows }, () => recallRow(random, prompts));
  const turns = Array.from({ length: recipe.turnRows }, () => turnRow(random, prompts, recipe.carelessness));
  return [...weighted(recall), ...weighted(turns)];
}

/** The two families of rows are each averaged over their own tokens. */
function weighted(rows: readonly BaseRow[]): SupervisedRow[] {
  const total = rows.reduce((sum, { targets }) => sum + targets.length, 0);
  return rows.map(({ tokens, targets }) => {
    const weights = new Array<number>(tokens.length).fill(0);
    for (const target of targets) weights[target] = 1 / total;
    return { tokens, weights };
  });
}

/** Linear warm-up, then half a cosine down to `finalRate` over exactly the run. */
function optimizerAt(recipe: BaseRecipe, step: number): OptimizerOptions {
  const warmup = Math.min(1, (step + 1) / recipe.warmupSteps);
  const cosine = 0.5 * (1 + Math.cos((Math.PI * step) / recipe.steps));
  return {
    learningRate: recipe.learningRate * warmup * (recipe.finalRate + (1 - recipe.finalRate) * cosine),
    beta1: recipe.betas[0],
    beta2: recipe.betas[1],
    epsilon: 1e-8,
    weightDecay: recipe.weightDecay,
    gradientClip: recipe.gradientClip,
  };
}
