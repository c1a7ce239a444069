import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { LossMetrics, LossOptions, PolicyRow } from '../policy-api.js';
import type { ScoredRow } from './scoring.js';

/** Sums over tokens, each weighted by mask and reduction: what the step reports. */
export type LossSums = Omit<LossMetrics, 'gradientNorm' | 'trainedTokens' | 'totalTokens'>;

/** One token's terms. */
interface TokenTerms {
  policy: number;
  kl: number;
  clipped: boolean;
  ratio: number;
  /** d(policy + klCoefficient · kl) / d log p. */
  slope: number;
}

/**
 * GRPO's clipped policy term and the low-variance KL estimate of one token.
 *
 * r = exp(logp − old); policy = max(−r A, −clip(r, 1 − low, 1 + high) A); k3 = exp(ref − logp) − (ref − logp) − 1;
 * d policy / d logp = −r A where the first term is the larger, else 0; d k3 / d logp = 1 − exp(ref − logp).
 * Sources: Schulman et al. 2017 (clipping); Shao et al. 2024 (GRPO); Schulman, "Approximating KL divergence", 2020 (k3).
 */
export function tokenTerms(
  logProb: number,
  old: number,
  ref: number,
  advantage: number,
  loss: LossOptions
): TokenTerms {
  const ratio = Math.exp(logProb - old);
  const free = -ratio * advantage;
  const bound = -Math.min(Math.max(ratio, 1 - loss.clipLow), 1 + loss.clipHigh) * advantage;
  const clipped = bound > free;
  const gap = ref - logProb;
  const k3 = Math.exp(gap) - gap - 1;
  const beyond = loss.clampKl === true && k3 > 10;
  const kl = beyond ? 10 : k3;
  const slope = (clipped ? 0 : free) + loss.klCoefficient * (beyond ? 0 : 1 - Math.exp(gap));
  return { policy: clipped ? bound : free, kl, clipped, ratio, slope };
}

/** Weight of a token of each row: its mask times this. See LossOptions.reduction. */
export function rowWeights(rows: readonly PolicyRow[], reduction: LossOptions['reduction']): number[] {
  const sums = rows.map((row) => row.lossMask.reduce((a, b) => a + b, 0));
  const tokens = sums.reduce((a, b) => a + b, 0);
  const atLeastOne = sums.reduce((a, b) => a + Math.max(1, b), 0);
  switch (reduction) {
    case 'sample_mean':
      return sums.map((sum) => 1 / (Math.max(1, sum) * rows.length));
    case 'token_mean':
      return sums.map(() => 1 / Math.max(1, tokens));
    case 'token_mean_min1':
      return sums.map(() => 1 / Math.max(1, atLeastOne));
  }
}

/** Accumulates the loss of a batch token by token and hands back dL/dlogp of each. */
export class GrpoLoss {
  readonly scored: ScoredRow[];
  private readonly weights: number[];
  private readonly sums: LossSums = {
    loss: 0,
    policyLoss: 0,
    kl: 0,
    entropy: 0,
    clipFraction: 0,
    ppoKl: 0,
    maxLogProbDifference: 0,
    meanRatio: 0,
  };

  constructor(
    private readonly rows: readonly PolicyRow[],
    private readonly references: readonly ArrayLike<number>[],
    private readonly options: LossOptions
  ) {
    this.weights = rowWeights(rows, options.reduction);
    this.scored = rows.map(({ tokens, responseLength, lossMask }) => {
      const first = tokens.length - responseLength;
      return { tokens, targets: lossMask.flatMap((mask, i) => (mask === 0 ? [] : [first + i])) };
    });
  }

  /** Response tokens with a non-zero mask. */
  get trainedTokens(): number {
    return this.scored.reduce((sum, row) => sum + row.targets.length, 0);
  }

  /** Takes one scored token; returns dL/dlogp. */
  visit(row: number, target: number, logProb: number, entropy: number): number {
    const { tokens, responseLength, lossMask, oldLogProbs, advantage } = this.rows[row]!;
    const i = this.scored[row]!.targets[target]! - (tokens.length - responseLength);
    const weight = this.weights[row]! * lossMask[i]!;
    const old = oldLogProbs[i]!;
    const terms = tokenTerms(logProb, old, this.references[row]![i]!, advantage, this.options);
    const { sums } = this;
    sums.policyLoss += weight * terms.policy;
    sums.kl += weight * terms.kl;
    sums.entropy += weight * entropy;
    sums.clipFraction += terms.clipped ? weight : 0;
    sums.ppoKl += weight * (old - logProb);
    sums.meanRatio += weight * terms.ratio;
    sums.maxLogProbDifference = Math.max(sums.maxLogProbDifference, Math.abs(logProb - old));
    return weight * terms.slope;
  }

  /** The batch's figures, after every token was visited. */
  totals(): LossSums {
    return { ...this.sums, loss: this.sums.policyLoss + this.options.klCoefficient * this.sums.kl };
  }
}

/**
 * Checks the lengths of every row.
 *
 * @throws PipelineError ConversionFailed naming every bad row (at most ten)
 */
export function checkPolicyRows(rows: readonly PolicyRow[]): void {
  const problems: string[] = [];
  rows.forEach((row, index) => {
    const { responseLength: length, lossMask, oldLogProbs, refLogProbs, tokens } = row;
    if (!Number.isInteger(length) || length < 1 || length >= tokens.length)
      problems.push(
        `row ${index}: response of ${length} tokens in ${tokens.length}, at least one prompt token is needed`
      );
    const lengths = { lossMask, oldLogProbs, ...(refLogProbs ? { refLogProbs } : {}) };
    for (const [name, values] of Object.entries(lengths))
      if (values.length !== length)
        problems.push(`row ${index}: ${name} has ${values.length} entries for ${length} response tokens`);
  });
  if (rows.length === 0) problems.push('the batch has no rows');
  if (problems.length === 0) return;
  const shown = problems.slice(0, 10);
  throw new PipelineError('ConversionFailed', `rows cannot be trained on: ${shown.join('; ')}`, { problems: shown });
}
