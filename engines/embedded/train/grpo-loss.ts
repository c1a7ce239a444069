import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { LossMetrics, LossOptions, PolicyRow } from '../policy-api.js';
import type { Scores, ScoredRow } from './scoring.js';
import { type RowLoss, tokenTerms } from './token-loss.js';

/** Sums over tokens, each weighted by mask and reduction: what the step reports. */
export type LossSums = Omit<LossMetrics, 'gradientNorm' | 'trainedTokens' | 'totalTokens'>;

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

/** The loss of a batch: which tokens are scored, what each adds, and the batch's figures. */
export class GrpoLoss {
  /** Tokens with a non-zero mask, with their loss. */
  readonly scored: (ScoredRow & { loss: Extract<RowLoss, { kind: 'grpo' }> })[];

  constructor(
    rows: readonly PolicyRow[],
    references: readonly ArrayLike<number>[],
    private readonly options: LossOptions
  ) {
    const weights = rowWeights(rows, options.reduction);
    this.scored = rows.map(({ tokens, responseLength, lossMask, oldLogProbs, advantage }, row) => {
      const first = tokens.length - responseLength;
      const trained = lossMask.flatMap((mask, i) => (mask === 0 ? [] : [i]));
      return {
        tokens,
        targets: trained.map((i) => first + i),
        loss: {
          kind: 'grpo',
          weights: trained.map((i) => weights[row]! * lossMask[i]!),
          old: trained.map((i) => oldLogProbs[i]!),
          reference: trained.map((i) => references[row]![i]!),
          advantage,
          options,
        },
      };
    });
  }

  /** Sums over all scored tokens in their order, so that neither packs nor threads change a bit. */
  totals({ logProbs, entropies }: Scores): LossSums {
    const sums: LossSums = {
      loss: 0,
      policyLoss: 0,
      kl: 0,
      entropy: 0,
      clipFraction: 0,
      ppoKl: 0,
      maxLogProbDifference: 0,
      meanRatio: 0,
      minRatio: Infinity,
      maxRatio: 0,
    };
    let token = 0;
    for (const { loss } of this.scored) {
      for (let target = 0; target < loss.weights.length; target += 1, token += 1) {
        const weight = loss.weights[target]!;
        const old = loss.old[target]!;
        const logProb = logProbs[token]!;
        const terms = tokenTerms(logProb, old, loss.reference[target]!, loss.advantage, this.options);
        sums.policyLoss += weight * terms.policy;
        sums.kl += weight * terms.kl;
        sums.entropy += weight * entropies[token]!;
        sums.clipFraction += terms.clipped ? weight : 0;
        sums.ppoKl += weight * (old - logProb);
        sums.meanRatio += weight * terms.ratio;
        sums.minRatio = Math.min(sums.minRatio, terms.ratio);
        sums.maxRatio = Math.max(sums.maxRatio, terms.ratio);
        sums.maxLogProbDifference = Math.max(sums.maxLogProbDifference, Math.abs(logProb - old));
      }
    }
    if (token === 0) sums.minRatio = 0;
    sums.loss = sums.policyLoss + this.options.klCoefficient * sums.kl;
    return sums;
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
