import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { backward } from '../model/backward.js';
import { loadPack, type Segment } from '../model/batch.js';
import { forward } from '../model/forward.js';
import { headBackward, headEntropy, headForward, headLogProb, headSoftmax } from '../model/head.js';
import { GRADIENT_LANES, type Model } from '../model/model.js';
import { PACK_TOKENS } from '../model/workspace.js';

/** A sequence and the tokens of it that are scored: indexes ≥ 1 into `tokens`, rising. */
export interface ScoredRow {
  tokens: readonly number[];
  targets: readonly number[];
}

/**
 * Called once for every scored token, in order of rows and targets; returns dL/dlogp of it (ignored without gradients).
 *
 * @param row index into the rows
 * @param target index into the row's `targets`
 */
export type TokenVisitor = (row: number, target: number, logProb: number, entropy: number) => number;

interface PackPlan {
  segments: Segment[];
  /** Per scored token: row of the last layer's output, id, row index, target index. */
  outputs: number[];
  ids: number[];
  rows: number[];
  targets: number[];
}

/**
 * Log-probs of chosen tokens of many sequences, packed; with `gradients`, also the backward into the gradient lanes.
 * Packs go to the lanes in turn. Rows without targets cost nothing.
 */
export function scoreRows(
  model: Model,
  rows: readonly ScoredRow[],
  temperature: number,
  gradients: boolean,
  visit: TokenVisitor
): void {
  let pack = 0;
  for (let next = 0; next < rows.length; pack += 1) {
    const plan = planPack(rows, next);
    next = plan.next;
    if (plan.segments.length > 0) runPack(model, plan, temperature, gradients ? pack % GRADIENT_LANES : null, visit);
  }
}

/** Takes rows in order while they fit. A row is cut after the position that predicts its last target. */
function planPack(rows: readonly ScoredRow[], first: number): PackPlan & { next: number } {
  const plan: PackPlan = { segments: [], outputs: [], ids: [], rows: [], targets: [] };
  let tokens = 0;
  let outputs = 0;
  let next = first;
  for (; next < rows.length; next += 1) {
    const row = rows[next]!;
    if (row.targets.length === 0) continue;
    const start = row.targets[0]! - 1;
    const end = row.targets[row.targets.length - 1]!;
    if (tokens > 0 && tokens + end > PACK_TOKENS) break;
    plan.segments.push({ tokens: row.tokens, start: 0, end, queries: end - start });
    for (let i = 0; i < row.targets.length; i += 1) {
      plan.outputs.push(outputs + row.targets[i]! - 1 - start);
      plan.ids.push(row.tokens[row.targets[i]!]!);
      plan.rows.push(next);
      plan.targets.push(i);
    }
    tokens += end;
    outputs += end - start;
  }
  return { ...plan, next };
}

function runPack(model: Model, plan: PackPlan, temperature: number, lane: number | null, visit: TokenVisitor): void {
  const { kernels, workspace, config } = model;
  const { head, gradients } = workspace;
  const pack = loadPack(model, plan.segments);
  forward(model, pack);
  if (lane !== null) kernels.heap.fill(0, gradients.x, gradients.x + pack.selected * config.hiddenSize);
  for (let from = 0; from < plan.outputs.length; from += head.rows) {
    const count = Math.min(head.rows, plan.outputs.length - from);
    headForward(model, plan.outputs, from, count);
    headSoftmax(model, 0, count, temperature);
    for (let i = 0; i < count; i += 1) {
      const id = plan.ids[from + i]!;
      const logProb = headLogProb(model, i, id, temperature);
      kernels.ints[head.targets + i] = id;
      kernels.heap[head.coefficients + i] = visit(
        plan.rows[from + i]!,
        plan.targets[from + i]!,
        logProb,
        headEntropy(model, i)
      );
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
