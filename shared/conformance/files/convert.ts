import { pyTruthy, type PyDict, type PyValue } from '../../data/python/value.js';
import { expandVime } from '../../grpo/expand-vime.js';
import { expandRelax } from '../../grpo/expand.js';
import type { RawRows, RawSample } from '../../grpo/samples.js';
import { pyInt } from '../../literals/python-numbers.js';
import { compareOutcome, perPythonCase, plain } from '../python-cases.js';
import type { Checker } from '../types.js';

/** Rewards are compared at the tolerance the case file asks for: sums of float32 may be rounded in another order. */
const TOLERANCE = { relative: 1e-6 };

/** vime's row of a sample without turns, as the case file's header states it. */
const WHOLE_SAMPLE = { tokens: [1n, 2n, 3n], responseLength: 2n, lossMask: null, rolloutLogProbs: [-0.5, -0.25] };

/** Trajectories to rows: normalization, credit, order, errors, by both references. */
export const convertChecker: Checker = {
  file: 'convert.json',
  check: perPythonCase(({ input, expected, expectedVime }) => {
    const args = input.get('args') as PyDict;
    const samples = (input.get('samples') as PyDict[]).map(readSample);
    const relax = compareOutcome(
      expected,
      () => {
        const rows = plainRows(convertRelax(args, samples));
        return { ...rows, rewards_f32: (rows['rewards'] as unknown[]).map(asFloat32) };
      },
      'relax',
      TOLERANCE
    );
    if (expectedVime === null) return relax;
    return [...relax, ...compareOutcome(expectedVime, () => plainRows(convertVime(args, samples)), 'vime', TOLERANCE)];
  }),
};

function convertRelax(args: PyDict, samples: RawSample[]): RawRows {
  return expandRelax(samples, {
    ...normalization(args),
    credit: arg(args, 'mem_agent_credit_assignment', 'split'),
    rowsMultiple: pyInt(arg(args, 'mem_agent_train_rows_multiple', 1n)),
    limits: {
      memoryTokens: pyInt(arg(args, 'mem_agent_max_memory_tokens', 1024n)),
      finalTokens: pyInt(arg(args, 'mem_agent_max_final_tokens', 256n)),
    },
    strictAlignment: pyTruthy(arg(args, 'mem_agent_strict_alignment', true)),
  });
}

function convertVime(args: PyDict, samples: RawSample[]): RawRows {
  return expandVime(samples, {
    ...normalization(args),
    rolloutBatchSize: pyInt(arg(args, 'rollout_batch_size', 1n)),
    globalBatchSize: pyInt(arg(args, 'global_batch_size', 1n)),
    credit: 'split',
  });
}

function normalization(args: PyDict) {
  return {
    estimator: String(arg(args, 'advantage_estimator', '')),
    rewardsNormalization: pyTruthy(arg(args, 'rewards_normalization', false)),
    stdNormalization: pyTruthy(arg(args, 'grpo_std_normalization', false)),
    groupSize: pyInt(arg(args, 'n_samples_per_prompt', 1n)),
    rewardKey: arg(args, 'reward_key', null),
  };
}

/** Arguments that are missing have the reference's defaults. */
function arg(args: PyDict, name: string, fallback: PyValue): PyValue {
  return args.has(name) ? (args.get(name) ?? null) : fallback;
}

function readSample(sample: PyDict): RawSample {
  return {
    groupIndex: sample.get('group_index') ?? null,
    index: sample.get('index') ?? null,
    reward: sample.get('reward') ?? null,
    status: String(sample.get('status')),
    removeSample: pyTruthy(sample.get('remove_sample')),
    turns: sample.get('turns') ?? null,
    whole: WHOLE_SAMPLE,
  };
}

function plainRows(rows: RawRows): Record<string, unknown> {
  return Object.fromEntries(Object.entries(rows).map(([column, values]) => [column, plain(values)]));
}

function asFloat32(value: unknown): unknown {
  return typeof value === 'number' ? Math.fround(value) : value;
}
