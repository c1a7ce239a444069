import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import type { TrainingRows, Trajectory, Turn } from '../../../shared/contracts/trajectory.js';
import { convertTrajectories, type ConvertOptions } from '../../../shared/grpo/rows.js';

const SEED = 20_260_708;

const OPTIONS: ConvertOptions = {
  flavour: 'relax',
  groupSize: 2,
  stdNormalization: true,
  rewardsNormalization: true,
  credit: 'split',
  rowsMultiple: 1,
  limits: { chunkTokens: 24, memoryTokens: 16, finalTokens: 8, maxChunks: 64 },
};

function turn(turnIndex: number, last: boolean, changes: Partial<Turn> = {}): Turn {
  return {
    turnIndex,
    kind: last ? 'final' : 'memory',
    tokens: [1, 2, 3, 10 + turnIndex, 20 + turnIndex],
    responseLength: 2,
    lossMask: [1, 1],
    rolloutLogProbs: [-0.5, -0.25],
    finishReason: 'completed',
    ...changes,
  };
}

function trajectory(index: number, reward: number, turns = 3, changes: Partial<Trajectory> = {}): Trajectory {
  return {
    groupIndex: Math.floor(index / 2),
    index,
    status: 'completed',
    turns: Array.from({ length: turns }, (_, at) => turn(at, at === turns - 1)),
    finalOutput: '',
    numChunks: turns - 1,
    contextTruncated: false,
    anyTurnTruncated: false,
    memoryTokenLengths: [],
    finalMemoryTokens: 0,
    reward,
    diagnostic: '',
    prediction: '',
    removeSample: false,
    memories: [],
    ...changes,
  };
}

const two = (changes: Partial<Trajectory> = {}) => [trajectory(0, 1, 3, changes), trajectory(1, 0)];

function failure(trajectories: Trajectory[], options: Partial<ConvertOptions> = {}): PipelineError {
  try {
    convertTrajectories(trajectories, { ...OPTIONS, ...options });
  } catch (error) {
    if (error instanceof PipelineError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('trajectories become rows', () => {
  it('one a turn, with the group’s advantage split over the turns', () => {
    const { rows, producedRows, trimmedRows } = convertTrajectories(two(), OPTIONS);
    expect([producedRows, trimmedRows]).toEqual([6, 0]);
    const advantage = Math.fround(0.5 / Math.fround(Math.fround(Math.SQRT1_2) + Math.fround(1e-6)));
    expect(rows.rewards).toEqual([1, 1, 1, -1, -1, -1].map((sign) => (sign * advantage) / 3));
    expect(rows).toMatchObject({
      raw_reward: [1, 1, 1, 0, 0, 0],
      sample_indices: [0, 0, 0, 1, 1, 1],
      trajectory_indices: [0, 0, 0, 1, 1, 1],
      turn_indices: [0, 1, 2, 0, 1, 2],
      total_lengths: [5, 5, 5, 5, 5, 5],
      response_lengths: [2, 2, 2, 2, 2, 2],
      truncated: [0, 0, 0, 0, 0, 0],
    });
    expect(rows.tokens[1]).toEqual([1, 2, 3, 11, 21]);
  });

  it('with the whole advantage each when credit is shared', () => {
    for (const flavour of ['relax', 'vime'] as const) {
      const split = convertTrajectories(two(), { ...OPTIONS, flavour }).rows.rewards;
      const share = convertTrajectories(two(), { ...OPTIONS, flavour, credit: 'share' }).rows.rewards;
      expect(split.map((value) => value * 3)).toEqual(share.map((value) => (value / 3) * 3));
    }
  });

  it('with the reward itself when rewards are not normalized', () => {
    const { rows } = convertTrajectories(two(), { ...OPTIONS, rewardsNormalization: false });
    expect(rows.rewards).toEqual([1 / 3, 1 / 3, 1 / 3, 0, 0, 0]);
  });

  it('with an all-zero mask when the sample was removed', () => {
    for (const flavour of ['relax', 'vime'] as const) {
      const { rows } = convertTrajectories(two({ removeSample: true }), { ...OPTIONS, flavour });
      expect(rows.loss_masks).toEqual([
        [0, 0],
        [0, 0],
        [0, 0],
        [1, 1],
        [1, 1],
        [1, 1],
      ]);
    }
  });

  it('marked truncated by turn in relax and by trajectory in vime', () => {
    const cut = trajectory(0, 1, 3, { status: 'truncated' });
    cut.turns[2] = turn(2, true, { finishReason: 'truncated' });
    const trajectories = [cut, trajectory(1, 0)];
    expect(convertTrajectories(trajectories, OPTIONS).rows.truncated).toEqual([0, 0, 1, 0, 0, 0]);
    expect(convertTrajectories(trajectories, { ...OPTIONS, flavour: 'vime' }).rows.truncated).toEqual([
      1, 1, 1, 0, 0, 0,
    ]);
  });

  it('trimmed at the tail by vime alone, to a multiple of the global batch, unless nothing would be left', () => {
    const trim = (flavour: 'relax' | 'vime', globalBatchSize: number) => {
      const { producedRows, trimmedRows, rows } = convertTrajectories(two(), { ...OPTIONS, flavour, globalBatchSize });
      const lengths = new Set(Object.values(rows).map((column: unknown[]) => column.length));
      return [producedRows, trimmedRows, lengths.size];
    };
    expect(trim('vime', 4)).toEqual([4, 2, 1]);
    expect(trim('vime', 64)).toEqual([6, 0, 1]);
    expect(trim('relax', 4)).toEqual([6, 0, 1]);
  });
});

describe('trajectories are refused', () => {
  it.each<[string, Trajectory[], Partial<ConvertOptions>, string]>([
    ['none', [], {}, 'empty sample list'],
    ['aborted', two({ status: 'aborted' }), {}, 'index=0 with status=aborted'],
    ['failed', two({ status: 'failed' }), {}, 'index=0 with status=failed'],
    ['without turns', two({ turns: [] }), {}, 'index=0 has no MemAgent turns'],
    [
      'of a wrong group size',
      [trajectory(0, 1), trajectory(1, 0), trajectory(2, 1)],
      {},
      'Reward group 1 has 1 samples, expected 2',
    ],
    ['of unequal turn counts', [trajectory(0, 1, 3), trajectory(1, 0, 2)], {}, 'inconsistent turn counts: {0: {2, 3}}'],
    [
      'with a gap in the turns',
      two({ turns: [turn(0, false), turn(2, true)] }),
      {},
      'non-contiguous turn indices: [0, 2], expected [0, 1]',
    ],
    ['with two final turns', two({ turns: [turn(0, true), turn(1, true)] }), {}, 'exactly one final turn'],
    [
      'without response tokens',
      two({ turns: [turn(0, true, { responseLength: 0, lossMask: [], rolloutLogProbs: [] })] }),
      {},
      'invalid response_length',
    ],
    [
      'with a response longer than its tokens',
      two({ turns: [turn(0, true, { tokens: [1] })] }),
      {},
      'invalid response_length',
    ],
    ['with a short mask', two({ turns: [turn(0, true, { lossMask: [1] })] }), {}, 'misaligned loss_mask'],
    [
      'with missing log-probabilities',
      two({ turns: [turn(0, true, { rolloutLogProbs: [-1] })] }),
      {},
      'misaligned rollout_log_probs',
    ],
    [
      'with a NaN log-probability',
      two({ turns: [turn(0, true, { rolloutLogProbs: [-1, Number.NaN] })] }),
      {},
      'turn 0 has log-probability NaN',
    ],
    [
      'with a positive log-probability',
      two({ turns: [turn(0, true, { rolloutLogProbs: [-1, 0.1] })] }),
      {},
      'log-probability 0.1',
    ],
    ['with a token id that is none', two({ turns: [turn(0, true, { tokens: [1, 2, -3] })] }), {}, 'token id -3'],
    ['with a mask of other values', two({ turns: [turn(0, true, { lossMask: [1, 2] })] }), {}, '2 in its loss mask'],
    [
      'over the memory cap',
      two(),
      { limits: { ...OPTIONS.limits, memoryTokens: 1 } },
      'memory response_length=2 exceeds 1',
    ],
    [
      'over the final cap',
      two(),
      { limits: { ...OPTIONS.limits, finalTokens: 1 } },
      'final response_length=2 exceeds 1',
    ],
    ['over the chunk cap', two(), { limits: { ...OPTIONS.limits, maxChunks: 1 } }, 'more than maxChunks + 1 = 2'],
    ['with an infinite reward', [trajectory(0, Infinity), trajectory(1, 0)], {}, 'reward Infinity'],
    ['given twice', [trajectory(0, 1), trajectory(0, 0)], {}, 'trajectory 0 is in the batch twice'],
    [
      'that do not divide',
      two(),
      { rowsMultiple: 4 },
      'row count 6 is not divisible by mem_agent_train_rows_multiple=4',
    ],
    ['when checks are switched off', two(), { strictAlignment: false }, 'strict_alignment=true'],
    ['alone with std normalization', [trajectory(0, 1)], { groupSize: 1 }, 'advantage NaN'],
  ])('%s', (_, trajectories, options, message) => {
    const error = failure(trajectories, options);
    expect(error.type).toBe('ConversionFailed');
    expect(error.message).toContain(message);
  });

  it('by the same checks in vime, which itself has none', () => {
    const vime = { flavour: 'vime' as const };
    expect(failure([], vime).message).toContain('no trajectory');
    expect(failure(two({ status: 'aborted' }), vime).message).toContain('status=aborted');
    expect(failure(two({ turns: [turn(0, true, { lossMask: [1] })] }), vime).message).toContain('misaligned');
    expect(failure([trajectory(0, 1), trajectory(1, 0), trajectory(2, 1)], vime).message).toContain('expected 2');
    expect(failure(two(), { ...vime, rowsMultiple: 4 }).message).toContain('not divisible');
    const mixed = [0, 2, 1, 3].map((index) => trajectory(index, index % 2));
    expect(failure(mixed, vime).message).toContain('trajectory 2 of group 1 lies within group 0');
  });
});

describe('advantages', () => {
  const rewards = fc.array(fc.constantFrom(0, 1), { minLength: 8, maxLength: 8 });
  const convert = (values: number[], options: Partial<ConvertOptions> = {}): TrainingRows => {
    const trajectories = values.map((reward, index) => trajectory(index, reward, 2, { groupIndex: 0 }));
    return convertTrajectories(trajectories, { ...OPTIONS, groupSize: 8, ...options }).rows;
  };

  it('of a group sum to zero, order as the rewards do, and vanish when all rewards are equal', () => {
    fc.assert(
      fc.property(rewards, (values) => {
        const { rewards: advantages } = convert(values);
        expect(Math.abs(advantages.reduce((sum, value) => sum + value, 0))).toBeLessThan(1e-5);
        const [first] = advantages;
        if (new Set(values).size === 1) expect(advantages.every((value) => value === 0)).toBe(true);
        else expect(Math.sign(first as number)).toBe(values[0] === 1 ? 1 : -1);
      }),
      { seed: SEED, numRuns: 200 }
    );
  });

  it('are float32 numbers before they are split', () => {
    const { rewards: advantages } = convert([1, 0, 0, 0, 0, 0, 0, 0]);
    for (const value of advantages) expect(Math.fround(value * 2)).toBe(value * 2);
  });

  it('are the same in both flavours when groups lie one after the other', () => {
    fc.assert(
      fc.property(rewards, (values) => {
        expect(convert(values, { flavour: 'vime' })).toEqual(convert(values));
      }),
      { seed: SEED, numRuns: 100 }
    );
  });

  it('do not depend on other groups', () => {
    const batch = [trajectory(0, 1), trajectory(1, 0), trajectory(2, 0), trajectory(3, 0)];
    const alone = convertTrajectories(batch.slice(0, 2), OPTIONS).rows.rewards;
    expect(convertTrajectories(batch, OPTIONS).rows.rewards.slice(0, 6)).toEqual(alone);
  });
});

describe('shuffled advantages (ablation)', () => {
  const SIZE = 8;
  const rewards = [1, 0, 0, 1, 0.5, 0, 0, 0, /* next group */ 0, 1, 1, 1, 0, 0.25, 1, 1];
  const batch = rewards.map((reward, index) => trajectory(index, reward, 2, { groupIndex: Math.floor(index / SIZE) }));
  const convert = (options: Partial<ConvertOptions>) =>
    convertTrajectories(batch, { ...OPTIONS, groupSize: SIZE, globalBatchSize: 1, ...options }).rows;
  /** One advantage a trajectory, of a group. */
  const group = (rows: TrainingRows, number: number) =>
    rows.rewards.filter((_, row) => row % 2 === 0).slice(number * SIZE, (number + 1) * SIZE);
  const sorted = (values: readonly number[]) => [...values].sort((a, b) => a - b);

  it.each(['relax', 'vime'] as const)(
    'changes who gets which advantage of a group, and nothing else of the rows: %s',
    (flavour) => {
      const plain = convert({ flavour });
      const shuffled = convert({ flavour, shuffle: { seed: SEED, step: 3 } });
      for (const number of [0, 1]) {
        expect(group(shuffled, number)).not.toEqual(group(plain, number));
        expect(sorted(group(shuffled, number))).toEqual(sorted(group(plain, number)));
      }
      expect({ ...shuffled, rewards: [] }).toEqual({ ...plain, rewards: [] });
    }
  );

  it('is drawn by seed, step and group: the same again, and the same for both flavours', () => {
    const draw = (seed: number, step: number, flavour: 'relax' | 'vime' = 'relax') =>
      convert({ flavour, shuffle: { seed, step } }).rewards;
    expect(draw(SEED, 3)).toEqual(draw(SEED, 3));
    expect(draw(SEED, 3, 'vime')).toEqual(draw(SEED, 3));
    expect(draw(SEED, 4)).not.toEqual(draw(SEED, 3));
    expect(draw(SEED + 1, 3)).not.toEqual(draw(SEED, 3));
  });
});
