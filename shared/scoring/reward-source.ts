import { REWARD_METRIC } from './reward-log.js';

/** VIME prints no mean over trajectories; this one averages the rows after conversion. */
export const ROW_REWARD_METRIC = 'rollout/raw_reward';

/** Where the rewards of a job's arm come from: `arms/<arm>/reward.json`. */
export interface RewardSource {
  /** The framework's names of what is in `reward.csv`, sorted; more than one where its steps differ. */
  metrics: string[];
  /** A mean over rows counts a trajectory once for each of its turns, so that long documents weigh more. */
  mean_over: 'trajectories' | 'rows';
}

/** @param steps numbers that a framework printed for each step, by its own keys; the mean over trajectories is the better one */
export function rewardSource(steps: readonly { metrics: Readonly<Record<string, number>> }[]): RewardSource {
  const used = steps.map(({ metrics }) => (metrics[REWARD_METRIC] === undefined ? ROW_REWARD_METRIC : REWARD_METRIC));
  const metrics = [...new Set(used)].sort();
  return { metrics, mean_over: metrics.includes(ROW_REWARD_METRIC) ? 'rows' : 'trajectories' };
}

/** What a reader of a reward curve must know of arms whose rewards are means over rows; undefined: there are none. */
export function rowRewardNote(arms: readonly { name: string; rewardSource?: RewardSource }[]): string | undefined {
  const ofRows = arms.filter(({ rewardSource: source }) => source?.mean_over === 'rows');
  if (ofRows.length === 0) return undefined;
  const metrics = [...new Set(ofRows.flatMap(({ rewardSource: source }) => source?.metrics ?? []))].sort();
  const names = ofRows.map(({ name }) => name).join(', ');
  return (
    `Of ${names} the reward is a mean over a step’s rows (${metrics.join(', ')}), as its framework prints it: ` +
    'a trajectory with more turns counts more, so its height is not to be set beside a mean over trajectories.'
  );
}
