import type { PyDict, PyValue } from '../../data/python/value.js';
import { scoreTrajectory, type RewardInput } from '../../scoring/reward.js';
import { compareOutcome, perPythonCase } from '../python-cases.js';
import type { Checker } from '../types.js';

/** Answer extraction and reward of a final output, by both references. */
export const rewardChecker: Checker = {
  file: 'reward.json',
  check: perPythonCase(({ input, expected, expectedVime }) => {
    const rewardInput = readInput(input);
    const relax = compareOutcome(
      expected,
      () => {
        const { score, prediction, groundTruth, diagnostic } = scoreTrajectory('relax', rewardInput);
        return { score, mem_agent_raw_reward: score, pred: prediction, gt: groundTruth, diagnostic };
      },
      'relax'
    );
    if (expectedVime === null) return relax;
    const vime = compareOutcome(
      expectedVime,
      () => {
        const { score, prediction, groundTruth } = scoreTrajectory('vime', rewardInput);
        return { score, pred: prediction, gt: groundTruth };
      },
      'vime'
    );
    return [...relax, ...vime];
  }),
};

/** null stands for an absent key in the cases. */
function readInput(input: PyDict): RewardInput {
  const read = (key: string): PyValue | undefined => input.get(key) ?? undefined;
  return {
    finalOutput: read('final_output'),
    response: read('response'),
    label: read('label'),
    groundTruth: read('ground_truth'),
  };
}
