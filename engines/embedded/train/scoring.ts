import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { backward } from '../model/backward.js';
import { loadPack, type Segment } from '../model/batch.js';
import { forward } from '../model/forward.js';
import { headBackward, headEntropy, headForward, headLogProb, headSoftmax } from '../model/head.js';
import type { Model } from '../model/model.js';
import { PACK_TOKENS } from '../model/workspace.js';
import { coefficient, type RowLoss } from './token-loss.js';

/** A sequence and the tokens of it that are scored: indexes ≥ 1 into `tokens`, rising. */
export interface ScoredRow {
  tokens: readonly number[];
  targets: readonly number[];
  /** Present = the gradient of this loss is wanted. */
  loss?: RowLoss;
}

/** Answers for the scored tokens of all rows, one after the other in order of rows and targets. */
export interface Scores {
  /** Natural logarithms. */
  logProbs: Float32Array;
  /** Of the next-token distribution at the temperature, nats. */
  entropies: Float32Array;
}

/** Consecutive rows that are computed together. */
export interface RowRange {
  first: number;
  /** Exclusive. */
  end: number;
  /** Number of the first scored token among those of all rows. */
  token: number;
}

/** Cuts rows, in their order, into packs of at most `PACK_TOKENS` tokens. Rows without targets cost nothing. */
export function planPacks(rows: readonly ScoredRow[]): RowRange[] {
  const packs: RowRange[] = [];
  let tokens = 0;
  let token = 0;
  rows.forEach(({ targets }, row) => {
    if (targets.length === 0) return;
    const length = targets[targets.length - 1]!;
    const pack = packs.at(-1);
    if (pack !== undefined && tokens + length <= PACK_TOKENS) {
      pack.end = row + 1;
      tokens += length;
    } else {
      packs.push({ first: row, end: row + 1, token });
      tokens = length;
    }
    token += targets.length;
  });
  return packs;
}

/** Scored tokens of all rows. */
export function countTargets(rows: readonly ScoredRow[]): number {
  return rows.reduce((sum, { targets }) => sum + targets.length, 0);
}

/** What one pack needs beside its segments; entries a scored token. */
interface PackPlan {
  segments: Segment[];
  /** Row of the last layer's output. */
  outputs: number[];
  ids: number[];
  losses: (RowLoss | undefined)[];
  /** Index into the row's targets. */
  targets: number[];
}

/** A row is cut after the position that predicts its last target. */
function planPack(rows: readonly ScoredRow[]): PackPlan {
  const plan: PackPlan = { segments: [], outputs: [], ids: [], losses: [], targets: [] };
  let outputs = 0;
  for (const { tokens, targets, loss } of rows) {
    if (targets.length === 0) continue;
    const start = targets[0]! - 1;
    const end = targets[targets.length - 1]!;
    plan.segments.push({ tokens, start: 0, end, queries: end - start });
    for (let i = 0; i < targets.length; i += 1) {
      plan.outputs.push(outputs + targets[i]! - 1 - start);
      plan.ids.push(tokens[targets[i]!]!);
      plan.losses.push(loss);
      plan.targets.push(i);
    }
    outputs += end - start;
  }
  return plan;
}

/**
 * Log-probs and entropies of the scored tokens of one pack's rows, written to `scores` from its token number `token` on; with a
 * `lane`, also the backward of the rows' losses into that gradient lane.
 */
export function scorePack(
  model: Model,
  rows: readonly ScoredRow[],
  temperature: number,
  lane: number | null,
  scores: Scores,
  token: number
): void {
  const { kernels, workspace, config } = model;
  const { head, gradients } = workspace;
  const plan = planPack(rows);
  const pack = loadPack(model, plan.segments);
  forward(model, pack);
  if (lane !== null) kernels.heap.fill(0, gradients.x, gradients.x + pack.selected * config.hiddenSize);
  for (let from = 0; from < plan.outputs.length; from += head.rows) {
    const count = Math.min(head.rows, plan.outputs.length - from);
    headForward(model, plan.outputs, from, count);
    headSoftmax(model, 0, count, temperature);
    for (let i = 0; i < count; i += 1) {
      const at = from + i;
      const id = plan.ids[at]!;
      const logProb = headLogProb(model, i, id, temperature);
      scores.logProbs[token + at] = logProb;
      scores.entropies[token + at] = headEntropy(model, i);
      const loss = plan.losses[at];
      kernels.ints[head.targets + i] = id;
      kernels.heap[head.coefficients + i] = loss === undefined ? 0 : coefficient(loss, plan.targets[at]!, logProb);
    }
    if (lane !== null) headBackward(model, count, temperature, lane);
  }
  if (lane !== null) backward(model, pack, lane);
}

/**
 * Checks token ids and lengths before anything is computed.
 *
 * @throws PipelineError ConversionFailed naming every bad row (at most ten)
 */
export function checkSequences(model: Model, sequences: readonly (readonly number[])[], maxSequence: number): void {
  const problems: string[] = [];
  const vocab = model.config.vocabSize;
  sequences.forEach((tokens, row) => {
    if (tokens.length === 0 || tokens.length > maxSequence)
      problems.push(`row ${row} has ${tokens.length} tokens, allowed are 1 to ${maxSequence}`);
    const bad = tokens.find((id) => !Number.isInteger(id) || id < 0 || id >= vocab);
    if (bad !== undefined) problems.push(`row ${row} has token id ${bad}, the vocabulary ends at ${vocab - 1}`);
  });
  if (problems.length === 0) return;
  const shown = problems.slice(0, 10);
  throw new PipelineError('ConversionFailed', `rows cannot be scored: ${shown.join('; ')}`, { problems: shown });
}
