import { pyStr } from '../data/python/text.js';
import { pyIterate, type PyDict, type PyValue } from '../data/python/value.js';
import { pyFloat, pyInt } from '../literals/python-numbers.js';
import { centresRewards, orderedAdvantages, type NormalizationOptions } from './advantages.js';
import { rewardValue, turnField, turnFieldOr, valueError, zeros, type RawRows, type RawSample } from './samples.js';
import { refuseUntrainable, validateBatch, type ResponseLimits } from './validate.js';

export interface RelaxOptions extends Omit<NormalizationOptions, 'flavour'> {
  /** Trajectories of one prompt. */
  groupSize: bigint;
  rewardKey: PyValue;
  /** `split` = advantage / turns for each turn, `share` = the whole advantage for each. */
  credit: PyValue;
  rowsMultiple: bigint;
  limits: ResponseLimits;
  /** Only true is allowed: checks cannot be switched off. */
  strictAlignment: boolean;
}

const RELAX_COLUMNS = [
  'tokens',
  'response_lengths',
  'loss_masks',
  'rollout_log_probs',
  'rewards',
  'raw_reward',
  'truncated',
  'sample_indices',
  'trajectory_indices',
  'turn_indices',
  'total_lengths',
] as const;

/**
 * relax: checks everything, normalizes the rewards group by group (one entry a trajectory), and only then makes one row of
 * each turn. No row is dropped.
 *
 * @throws PythonError with the reference's text for the first fault
 */
export function expandRelax(samples: readonly RawSample[], options: RelaxOptions): RawRows {
  if (samples.length === 0) throw valueError('MemAgent converter received an empty sample list.');
  if (!options.strictAlignment) throw valueError('MemAgent training requires mem_agent_strict_alignment=true.');
  refuseUntrainable(samples);
  if (options.credit !== 'split' && options.credit !== 'share') {
    throw valueError("mem_agent_credit_assignment must be either 'split' or 'share'.");
  }
  const turnsOfSamples = validateBatch(samples, options.limits);
  const rewards = samples.map((sample) => rewardValue(sample, options.rewardKey));
  const advantages = relaxAdvantages(samples, rewards, options);
  const rows: RawRows = Object.fromEntries(RELAX_COLUMNS.map((column) => [column, [] as PyValue[]]));
  for (const [position, turns] of turnsOfSamples.entries()) {
    const advantage = advantages[position] as number;
    const credit = options.credit === 'split' ? advantage / turns.length : advantage;
    const shared = {
      sample: samples[position] as RawSample,
      position,
      credit,
      reward: pyFloat(rewards[position] ?? null),
    };
    for (const [at, turn] of turns.entries()) addRelaxRow(rows, turn, at, shared);
  }
  checkDivisible(rows['tokens']?.length ?? 0, options.rowsMultiple);
  return rows;
}

function addRelaxRow(
  rows: RawRows,
  turn: PyDict,
  at: number,
  shared: { sample: RawSample; position: number; credit: number; reward: number }
): void {
  const tokens = pyIterate(turnField(turn, 'tokens'));
  const length = pyInt(turnField(turn, 'response_length'));
  const lossMask = shared.sample.removeSample ? zeros(length) : pyIterate(turnField(turn, 'loss_mask'));
  const row: Record<(typeof RELAX_COLUMNS)[number], PyValue> = {
    tokens,
    response_lengths: length,
    loss_masks: lossMask,
    rollout_log_probs: pyIterate(turnField(turn, 'rollout_log_probs')),
    rewards: shared.credit,
    raw_reward: shared.reward,
    truncated: turnFieldOr(turn, 'finish_reason', null) === 'truncated' ? 1n : 0n,
    sample_indices: shared.sample.index,
    trajectory_indices: BigInt(shared.position),
    turn_indices: pyInt(turnFieldOr(turn, 'turn_index', BigInt(at))),
    total_lengths: BigInt(tokens.length),
  };
  for (const column of RELAX_COLUMNS) rows[column]?.push(row[column]);
}

function relaxAdvantages(samples: readonly RawSample[], rewards: readonly PyValue[], options: RelaxOptions): number[] {
  const normalization: NormalizationOptions = { ...options, flavour: 'relax' };
  const numbers = rewards.map(pyFloat);
  if (!centresRewards(normalization)) return numbers;
  const positionsByGroup = new Map<PyValue, number[]>();
  for (const [position, sample] of samples.entries()) {
    positionsByGroup.set(sample.groupIndex, [...(positionsByGroup.get(sample.groupIndex) ?? []), position]);
  }
  const advantages = new Array<number>(samples.length).fill(0);
  for (const [ordinal, [group, positions]] of [...positionsByGroup].entries()) {
    if (BigInt(positions.length) !== options.groupSize) {
      throw valueError(`Reward group ${pyStr(group)} has ${positions.length} samples, expected ${options.groupSize}.`);
    }
    const values = orderedAdvantages(
      positions.map((position) => numbers[position] as number),
      ordinal,
      normalization
    );
    for (const [at, position] of positions.entries()) advantages[position] = values[at] as number;
  }
  return advantages;
}

/** @throws PythonError ValueError when the rows cannot be shared out evenly */
export function checkDivisible(rows: number, multiple: bigint): void {
  if (multiple <= 0n) throw valueError('mem_agent_train_rows_multiple must be positive.');
  if (BigInt(rows) % multiple === 0n) return;
  throw valueError(
    `Expanded MemAgent row count ${rows} is not divisible by mem_agent_train_rows_multiple=${multiple}.`
  );
}
