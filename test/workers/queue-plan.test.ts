import { describe, expect, it } from 'vitest';
import { parseRoles, parseTag, planQueues } from '../../workers/queue-plan.js';

describe('the queues of a worker', () => {
  it('are one a role, with one activity at once where a GPU is held', () => {
    expect(planQueues(parseRoles(['train', 'workflow', 'data']), 'h100x8')).toEqual([
      { role: 'workflow', taskQueue: 'memagent', concurrency: 10 },
      { role: 'data', taskQueue: 'data@h100x8', concurrency: 4 },
      { role: 'train', taskQueue: 'train@h100x8', concurrency: 1 },
    ]);
  });

  it('let both arms run side by side on the laptop', () => {
    const plans = planQueues(parseRoles(['all']), 'local');
    expect(plans.map((plan) => plan.taskQueue)).toEqual([
      'memagent',
      'data@local',
      'rollout@local',
      'train@local',
      'convert@local',
      'evaluate@local',
    ]);
    for (const plan of plans) expect(plan.concurrency).toBeGreaterThanOrEqual(2);
  });

  it('take another concurrency for the GPU roles only', () => {
    const plans = planQueues(parseRoles(['data,train']), 'cpu', 3);
    expect(plans.map((plan) => plan.concurrency)).toEqual([4, 3]);
  });

  it('are refused for an unknown role, with the nearest known one', () => {
    expect(() => parseRoles(['trian'])).toThrow(/unknown role "trian"; did you mean “train”/);
    expect(() => parseRoles(['gpu'])).toThrow(/unknown role "gpu"$/);
    expect(() => parseRoles([])).toThrow(/no role was given/);
  });

  it('are refused for a tag that cannot be part of a queue’s name', () => {
    expect(parseTag('h100x8')).toBe('h100x8');
    for (const tag of ['', 'H100', 'a@b', 'a b', '-x', 'x'.repeat(64)])
      expect(() => parseTag(tag)).toThrow(/is not a tag/);
  });
});
