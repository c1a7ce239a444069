import { describe, expect, it } from 'vitest';
import { REWARD_METRIC } from '../../../shared/scoring/reward-log.js';
import { rewardSource, ROW_REWARD_METRIC, rowRewardNote } from '../../../shared/scoring/reward-source.js';

const overTrajectories = { metrics: { [REWARD_METRIC]: 0.5, [ROW_REWARD_METRIC]: 0.4 } };
const overRows = { metrics: { [ROW_REWARD_METRIC]: 0.4 } };

describe('where an arm’s rewards come from', () => {
  it('is the mean over trajectories where the framework prints one', () => {
    expect(rewardSource([overTrajectories])).toEqual({ metrics: [REWARD_METRIC], mean_over: 'trajectories' });
  });

  it('is the mean over rows as soon as one step has no other', () => {
    expect(rewardSource([overRows])).toEqual({ metrics: [ROW_REWARD_METRIC], mean_over: 'rows' });
    expect(rewardSource([overTrajectories, overRows])).toEqual({
      metrics: [REWARD_METRIC, ROW_REWARD_METRIC],
      mean_over: 'rows',
    });
  });

  it('is said of the arms whose rewards are means over rows, and of no others', () => {
    const relax = { name: 'relax', rewardSource: rewardSource([overTrajectories]) };
    expect(rowRewardNote([relax, { name: 'embedded' }])).toBeUndefined();
    expect(rowRewardNote([relax, { name: 'vime', rewardSource: rewardSource([overRows]) }])).toMatch(
      /^Of vime the reward is a mean over a step’s rows \(rollout\/raw_reward\)/
    );
  });
});
