import { PythonError, pyIterate, pyTruthy, type PyValue } from '../data/python/value.js';
import { pyFloat, pyInt } from '../literals/python-numbers.js';
import { centresRewards, orderedAdvantages, type NormalizationOptions } from './advantages.js';
import { rewardValue, turnField, turnFieldOr, zeros, type RawRows, type RawSample } from './samples.js';

export interface VimeOptions extends Omit<NormalizationOptions, 'flavour'> {
  groupSize: bigint;
  /** Prompts of a step; groups are cut by position only if prompts × group size is the number of samples. */
  rolloutBatchSize: bigint;
  rewardKey: PyValue;
  /** The reference knows `split` only. */
  credit: 'split' | 'share';
  /** Rows are trimmed at the tail to a multiple of it. */
  globalBatchSize: bigint;
}

/**
 * vime: groups by position, checks nothing, gives each turn advantage / turns, and trims rows at the tail to a multiple of the
 * global batch size (unless nothing would be left).
 *
 * @throws PythonError KeyError for a turn without a needed member
 */
export function expandVime(samples: readonly RawSample[], options: VimeOptions): RawRows {
  const rewards = samples.map((sample) => rewardValue(sample, options.rewardKey));
  const advantages = vimeAdvantages(rewards.map(pyFloat), options);
  const rows: RawRows = {
    tokens: [],
    response_lengths: [],
    loss_masks: [],
    rewards: [],
    raw_reward: [],
    truncated: [],
    sample_indices: [],
  };
  const logProbs: PyValue[] = [];
  for (const [position, sample] of samples.entries()) {
    const advantage = advantages[position] as number;
    addRows(rows, logProbs, sample, {
      advantage,
      reward: rewards[position] as PyValue,
      share: options.credit === 'share',
    });
  }
  const total = rows['tokens']?.length ?? 0;
  const kept = keptRows(total, options.globalBatchSize);
  if (logProbs.length > 0) rows['rollout_log_probs'] = logProbs;
  return Object.fromEntries(Object.entries(rows).map(([column, values]) => [column, values.slice(0, kept)]));
}

/** Rows left after vime's trim. */
export function keptRows(total: number, globalBatchSize: bigint): number {
  if (globalBatchSize === 0n) throw new PythonError('ZeroDivisionError', 'integer division or modulo by zero');
  const kept = Number((BigInt(total) / globalBatchSize) * globalBatchSize);
  return kept === 0 ? total : kept;
}

function vimeAdvantages(rewards: readonly number[], options: VimeOptions): number[] {
  const normalization: NormalizationOptions = { ...options, flavour: 'vime' };
  if (!centresRewards(normalization)) return rewards.map(Math.fround);
  const grouped = BigInt(rewards.length) === options.groupSize * options.rolloutBatchSize;
  const size = grouped ? Number(options.groupSize) : rewards.length;
  const advantages: number[] = [];
  for (let start = 0; start < rewards.length; start += size) {
    advantages.push(...orderedAdvantages(rewards.slice(start, start + size), start / size, normalization));
  }
  return advantages;
}

interface Credit {
  advantage: number;
  reward: PyValue;
  share: boolean;
}

function addRows(rows: RawRows, logProbs: PyValue[], sample: RawSample, credit: Credit): void {
  const truncated = sample.status === 'truncated' ? 1n : 0n;
  const add = (tokens: PyValue, length: PyValue, mask: PyValue, advantage: number): void => {
    rows['tokens']?.push(tokens);
    rows['response_lengths']?.push(length);
    rows['loss_masks']?.push(sample.removeSample ? zeros(pyInt(length)) : mask);
    rows['rewards']?.push(advantage);
    rows['raw_reward']?.push(credit.reward);
    rows['truncated']?.push(truncated);
    rows['sample_indices']?.push(sample.index);
  };
  if (sample.turns === null) {
    const { tokens, responseLength, lossMask, rolloutLogProbs } = sample.whole;
    const ones = new Array<PyValue>(Number(pyInt(responseLength))).fill(1n);
    add(tokens, responseLength, lossMask ?? ones, credit.advantage);
    if (rolloutLogProbs !== null) logProbs.push(rolloutLogProbs);
    return;
  }
  const turns = pyIterate(sample.turns);
  if (turns.length === 0) throw new PythonError('ZeroDivisionError', 'float division by zero');
  const advantage = credit.share ? credit.advantage : credit.advantage / turns.length;
  for (const turn of turns) {
    add(
      turnField(turn, 'tokens'),
      turnField(turn, 'response_length'),
      pyIterate(turnField(turn, 'loss_mask')),
      advantage
    );
    const turnLogProbs = turnFieldOr(turn, 'rollout_log_probs', null);
    if (pyTruthy(turnLogProbs)) logProbs.push(turnLogProbs);
  }
}
