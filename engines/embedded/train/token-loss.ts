import type { LossOptions } from '../policy-api.js';

/** The part of the options that a single token's terms depend on. */
export type TokenLossOptions = Pick<LossOptions, 'clipLow' | 'clipHigh' | 'klCoefficient' | 'clampKl'>;

/** What the scored tokens of one row add to the loss. Plain data with one entry a scored token: another thread can take it. */
export type RowLoss =
  | {
      kind: 'grpo';
      /** Mask times the reduction's weight. */
      weights: number[];
      /** Log-probs when the tokens were sampled, and under the frozen base. */
      old: number[];
      reference: number[];
      advantage: number;
      options: TokenLossOptions;
    }
  /** Σ weight × −log p. */
  | { kind: 'supervised'; weights: number[] };

/** One token's terms. */
export interface TokenTerms {
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
  loss: TokenLossOptions
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

/** dL/dlogp of a row's scored token number `target`. */
export function coefficient(row: RowLoss, target: number, logProb: number): number {
  const weight = row.weights[target]!;
  if (row.kind === 'supervised') return -weight;
  const { old, reference, advantage, options } = row;
  return weight * tokenTerms(logProb, old[target]!, reference[target]!, advantage, options).slope;
}
