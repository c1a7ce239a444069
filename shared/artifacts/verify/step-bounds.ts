import type { Recipe } from '../../contracts/recipe.js';
import type { TrainingRows } from '../../contracts/trajectory.js';
import type { CheckBuilder } from './check.js';

/** Metrics of a step that come from the model's forward and backward pass. */
const METRICS = new Set([
  'loss',
  'policy_loss',
  'kl',
  'entropy',
  'clip_fraction',
  'grad_norm',
  'ppo_kl',
  'max_logprob_difference',
  'mean_ratio',
  'min_ratio',
  'max_ratio',
]);

/** Sums of some thousand doubles in another order differ by less than this part. No unit. */
const ROUNDING = 1e-9;

/** What follows from the rows alone, to the last bit. */
export function rowCounts(rows: TrainingRows): Record<string, number> {
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    trained_tokens: sum(rows.loss_masks.map(sum)),
    total_tokens: sum(rows.tokens.map((tokens) => tokens.length)),
    ended_share: 1 - sum(rows.truncated) / rows.truncated.length,
  };
}

/**
 * What the metrics of the embedded engine must satisfy, whatever the model: the loss is its parts' sum to the last bit; with
 * d the largest difference of a log-prob from the sampled one, every ratio lies in [e^−d, e^d], so that
 * |policy loss + Σ w A| ≤ Σ w |A| (e^d − 1); the estimate k3 of the KL is not negative; nothing is clipped where no ratio
 * reaches a bound.
 *
 * @param where names the record
 */
export function checkMetrics(
  where: string,
  record: Readonly<Record<string, unknown>>,
  rows: TrainingRows,
  { klCoefficient, clip, lossReduction }: Recipe['grpo'],
  check: CheckBuilder
): void {
  const bad = Object.entries(record).filter(([name, value]) => METRICS.has(name) && !Number.isFinite(value));
  for (const [name, value] of bad) check.problem(`${where}, ${name} is ${String(value)}, no finite number.`);
  if (bad.length > 0) return;
  const m = record as Record<string, number>;
  const [policy = 0, kl = 0, difference = 0] = [m['policy_loss'], m['kl'], m['max_logprob_difference']];
  check.equal(`${where}, loss`, m['loss'], policy + klCoefficient * kl);
  const [low, high] = [Math.exp(-difference), Math.exp(difference)];
  const { expected, scale } = onPolicyLoss(rows, lossReduction);
  const slack = scale * (high - 1) + ROUNDING * (scale + 1);
  const within = (name: string, from: number, to: number): void => {
    const value = m[name];
    if (value !== undefined && (value < from || value > to))
      check.problem(`${where}, ${name} is ${value}, but must lie within ${from} and ${to}.`);
  };
  within('policy_loss', expected - slack, expected + slack);
  within('kl', -ROUNDING, Infinity);
  within('entropy', -ROUNDING, Infinity);
  within('grad_norm', 0, Infinity);
  within('max_logprob_difference', 0, Infinity);
  within('ppo_kl', -difference - ROUNDING, difference + ROUNDING);
  for (const name of ['min_ratio', 'mean_ratio', 'max_ratio']) within(name, low - ROUNDING, high + ROUNDING);
  within('clip_fraction', 0, high <= 1 + clip[1] && low >= 1 - clip[0] ? 0 : 1 + ROUNDING);
}

/** The policy loss where every ratio is 1: −Σ w A over the trained tokens; and Σ w |A|. */
function onPolicyLoss(
  rows: TrainingRows,
  reduction: Recipe['grpo']['lossReduction']
): { expected: number; scale: number } {
  const masks = rows.loss_masks.map((mask) => mask.reduce((sum, value) => sum + value, 0));
  const tokens = Math.max(
    1,
    masks.reduce((sum, value) => sum + value, 0)
  );
  let [expected, scale] = [0, 0];
  masks.forEach((mask, row) => {
    const weight = reduction === 'sample_mean' ? Math.min(1, mask) / masks.length : mask / tokens;
    const advantage = rows.rewards[row] ?? 0;
    expected -= weight * advantage;
    scale += weight * Math.abs(advantage);
  });
  return { expected, scale };
}
