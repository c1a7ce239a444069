import { PipelineError } from '../contracts/pipeline-error.js';
import type { Flavour, MemoryLimits, TrainingRows, Trajectory, Turn } from '../contracts/trajectory.js';
import { PythonError, type PyDict, type PyValue } from '../data/python/value.js';
import type { AdvantageShuffle } from './advantages.js';
import { expandVime } from './expand-vime.js';
import { checkDivisible, expandRelax } from './expand.js';
import { valueError, type RawRows, type RawSample } from './samples.js';
import { refuseUntrainable, validateBatch, type ResponseLimits } from './validate.js';

export interface ConvertOptions {
  flavour: Flavour;
  /** Trajectories of one prompt. */
  groupSize: number;
  /** Divide centred rewards by the group's standard deviation. */
  stdNormalization: boolean;
  /** Centre rewards within the group; off = the advantage is the reward. */
  rewardsNormalization: boolean;
  credit: 'split' | 'share';
  /** The row count must be divisible by it. */
  rowsMultiple: number;
  limits: MemoryLimits;
  /** vime trims rows at the tail to a multiple of it. Default: nothing is trimmed. */
  globalBatchSize?: number;
  /** Only true is allowed: checks cannot be switched off. Default true. */
  strictAlignment?: boolean;
  /** Ablation: permute the advantages within each group. Default: everyone its own. */
  shuffle?: AdvantageShuffle;
}

export interface ConvertedRows {
  rows: TrainingRows;
  /** Rows in `rows`: what the producer reports. */
  producedRows: number;
  /** Rows cut from the tail (vime only). */
  trimmedRows: number;
}

/**
 * Turns the trajectories of one step into training rows: rewards are normalized once a trajectory and group by group, then
 * every turn becomes a row. Both flavours are checked in full, also where vime itself checks nothing.
 *
 * @param trajectories the whole step, in order; group by group for vime, which groups by position
 * @throws PipelineError ConversionFailed naming the trajectory and the check
 */
export function convertTrajectories(trajectories: readonly Trajectory[], options: ConvertOptions): ConvertedRows {
  try {
    checkNumbers(trajectories, options);
    return options.flavour === 'relax' ? convertRelax(trajectories, options) : convertVime(trajectories, options);
  } catch (error) {
    if (!(error instanceof PythonError)) throw error;
    throw new PipelineError('ConversionFailed', error.message, {}, { cause: error });
  }
}

function convertRelax(trajectories: readonly Trajectory[], options: ConvertOptions): ConvertedRows {
  const raw = expandRelax(trajectories.map(rawSample), {
    ...normalization(options),
    credit: options.credit,
    rowsMultiple: BigInt(options.rowsMultiple),
    limits: responseLimits(options),
    strictAlignment: options.strictAlignment ?? true,
  });
  const rows = typedRows(raw, trajectories);
  return { rows, producedRows: rows.tokens.length, trimmedRows: 0 };
}

function convertVime(trajectories: readonly Trajectory[], options: ConvertOptions): ConvertedRows {
  const samples = trajectories.map(rawSample);
  if (samples.length === 0) throw valueError('there is no trajectory to convert');
  if (options.strictAlignment === false) throw valueError('alignment checks cannot be switched off');
  refuseUntrainable(samples);
  validateBatch(samples, responseLimits(options));
  checkGroupsByPosition(trajectories, options.groupSize);
  const turns = trajectories.reduce((sum, trajectory) => sum + trajectory.turns.length, 0);
  const raw = expandVime(samples, {
    ...normalization(options),
    rolloutBatchSize: BigInt(trajectories.length / options.groupSize),
    credit: options.credit,
    globalBatchSize: BigInt(options.globalBatchSize ?? 1),
  });
  const rows = typedRows(raw, trajectories);
  checkDivisible(rows.tokens.length, BigInt(options.rowsMultiple));
  return { rows, producedRows: rows.tokens.length, trimmedRows: turns - rows.tokens.length };
}

function normalization(options: ConvertOptions) {
  return {
    estimator: 'grpo',
    rewardsNormalization: options.rewardsNormalization,
    stdNormalization: options.stdNormalization,
    groupSize: BigInt(options.groupSize),
    rewardKey: null,
    ...(options.shuffle === undefined ? {} : { shuffle: options.shuffle }),
  };
}

function responseLimits({ limits }: ConvertOptions): ResponseLimits {
  return { memoryTokens: BigInt(limits.memoryTokens), finalTokens: BigInt(limits.finalTokens) };
}

/** What the references leave to the framework: a value that would poison a training step is refused here. */
function checkNumbers(trajectories: readonly Trajectory[], options: ConvertOptions): void {
  const seen = new Set<number>();
  for (const trajectory of trajectories) {
    const name = `trajectory ${trajectory.index}`;
    if (seen.has(trajectory.index)) throw valueError(`${name} is in the batch twice`);
    seen.add(trajectory.index);
    if (!Number.isFinite(trajectory.reward)) throw valueError(`${name} has reward ${trajectory.reward}`);
    const most = options.limits.maxChunks + 1;
    if (trajectory.turns.length > most) {
      throw valueError(`${name} has ${trajectory.turns.length} turns, more than maxChunks + 1 = ${most}`);
    }
    for (const turn of trajectory.turns) checkTurnNumbers(`${name}, turn ${turn.turnIndex}`, turn);
  }
}

function checkTurnNumbers(name: string, turn: Turn): void {
  if (!Number.isSafeInteger(turn.responseLength))
    throw valueError(`${name} has response length ${turn.responseLength}`);
  const token = turn.tokens.find((id) => !Number.isInteger(id) || id < 0);
  if (token !== undefined) throw valueError(`${name} has token id ${token}`);
  const logProb = turn.rolloutLogProbs.find((value) => !(value <= 0) || value === Number.NEGATIVE_INFINITY);
  if (logProb !== undefined) throw valueError(`${name} has log-probability ${logProb}`);
  const mask = turn.lossMask.find((value) => value !== 0 && value !== 1);
  if (mask !== undefined) throw valueError(`${name} has ${mask} in its loss mask`);
}

/** vime cuts groups by position: they must lie there whole and one after the other. */
function checkGroupsByPosition(trajectories: readonly Trajectory[], groupSize: number): void {
  const counts = new Map<number, number>();
  for (const { groupIndex } of trajectories) counts.set(groupIndex, (counts.get(groupIndex) ?? 0) + 1);
  for (const [group, count] of counts) {
    if (count !== groupSize) throw valueError(`Reward group ${group} has ${count} samples, expected ${groupSize}.`);
  }
  for (const [position, { groupIndex, index }] of trajectories.entries()) {
    const first = trajectories[position - (position % groupSize)] as Trajectory;
    if (first.groupIndex !== groupIndex) {
      throw valueError(`trajectory ${index} of group ${groupIndex} lies within group ${first.groupIndex}`);
    }
  }
}

function rawSample(trajectory: Trajectory): RawSample {
  return {
    groupIndex: BigInt(trajectory.groupIndex),
    index: BigInt(trajectory.index),
    reward: trajectory.reward,
    status: trajectory.status,
    removeSample: trajectory.removeSample,
    turns: trajectory.turns.map(rawTurn),
    whole: { tokens: null, responseLength: 0n, lossMask: null, rolloutLogProbs: null },
  };
}

/** Token ids, masks and log-probabilities pass through as they are: nobody looks into them on the way. */
function rawTurn(turn: Turn): PyDict {
  return new Map<string, PyValue>([
    ['turn_index', BigInt(turn.turnIndex)],
    ['kind', turn.kind],
    ['tokens', turn.tokens],
    ['response_length', BigInt(turn.responseLength)],
    ['loss_mask', turn.lossMask],
    ['rollout_log_probs', turn.rolloutLogProbs],
    ['finish_reason', turn.finishReason],
  ]);
}

/** Rows in the order of trajectories and turns, so the columns that vime does not make follow from the position. */
function typedRows(raw: RawRows, trajectories: readonly Trajectory[]): TrainingRows {
  const numbers = (column: string): number[] => (raw[column] ?? []).map(Number);
  const lists = (column: string): number[][] => (raw[column] ?? []).map((list) => asNumbers(list as PyValue[]));
  const tokens = lists('tokens');
  const places = trajectories.flatMap((trajectory, position) => {
    return trajectory.turns.map((_, turn) => ({ position, turn }));
  });
  const kept = places.slice(0, tokens.length);
  const rewards = numbers('rewards');
  const bad = rewards.findIndex((value) => !Number.isFinite(value));
  if (bad !== -1) {
    throw valueError(`row ${bad} has advantage ${rewards[bad]}: a group of one has no standard deviation`);
  }
  return {
    tokens,
    response_lengths: numbers('response_lengths'),
    loss_masks: lists('loss_masks'),
    rollout_log_probs: lists('rollout_log_probs'),
    rewards,
    raw_reward: numbers('raw_reward'),
    truncated: numbers('truncated'),
    sample_indices: numbers('sample_indices'),
    trajectory_indices: kept.map(({ position }) => position),
    turn_indices: kept.map(({ turn }) => turn),
    total_lengths: tokens.map((list) => list.length),
  };
}

/** Zeros that were put into a mask are integers; everything else is a number already. */
function asNumbers(list: PyValue[]): number[] {
  return typeof list[0] === 'bigint' ? list.map(Number) : (list as number[]);
}
