import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { rewardCsv, rewardSvg } from '../../../shared/scoring/reward-files.js';
import { extractRewardPoints } from '../../../shared/scoring/reward-log.js';
import { summarizeRewardLog, summarizeRewards } from '../../../shared/scoring/reward-series.js';
import { summarizeLogPoints } from '../../../shared/scoring/reward-summary.js';

const SEED = 20_260_705;
const METRIC = 'rollout/mem_agent_raw_reward/mean';
const line = (step: number | string, value: number | string, prefix = '') =>
  `${prefix}perf ${step}: {'${METRIC}': ${value}}`;

describe('reward points of a training log', () => {
  it('are found behind prefixes, replayed, out of order, and with any line end', () => {
    const log = [line(2, 0.5, '(Actor pid=7) '), line(0, 0.25, '\u001b[36m '), line(2, 0.5), line('\u0661', '1e-1')];
    const expected = [
      { rolloutId: 0n, reward: 0.25 },
      { rolloutId: 1n, reward: 0.1 },
      { rolloutId: 2n, reward: 0.5 },
    ];
    for (const end of ['\n', '\r\n', '\r']) expect(extractRewardPoints(log.join(end))).toEqual(expected);
  });

  it('ignore lines that are no perf line, and dicts without the metric', () => {
    const log = [
      'xperf 0: {}',
      'perf 0:{}',
      'perf x: {}',
      "perf 1: {'other': nope",
      'perf 2: {}',
      "perf 3: {'a', 'b'}",
    ];
    expect(extractRewardPoints(log.join('\n'))).toEqual([]);
  });

  it.each([
    [line(0, 'nan'), 'Malformed ReLax perf payload at line 1.'],
    [line(0, 1.5), `Reward metric '${METRIC}' at rollout 0 is outside [0, 1]: 1.5.`],
    [line(0, '1e999'), `Reward metric '${METRIC}' at rollout 0 is outside [0, 1]: inf.`],
    [line(0, 'True'), `Reward metric '${METRIC}' at rollout 0 is not numeric: True.`],
    [line(0, "[1, 'x']"), `Reward metric '${METRIC}' at rollout 0 is not numeric: [1, 'x'].`],
    [`${line(0, 1)}\n${line(0, 0.5)}`, 'Conflicting reward values for rollout 0: 1.0 and 0.5.'],
  ])('refuse %j', (log, message) => {
    expect(() => extractRewardPoints(log)).toThrow(message);
  });

  it('take linear time on hostile lines', () => {
    const size = 1_000_000;
    for (const unit of ['perf ', 'perf 1: ', 'perf 1: {', '}', 'perf\t', ' ', 'perf \u0661', '\u0301']) {
      expect(extractRewardPoints(`${unit.repeat(size / unit.length)}\n${line(1, 0.5)}`)).toHaveLength(1);
    }
  });

  it('come back from a log that was written from them', () => {
    const points = fc.uniqueArray(
      fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.double({ min: 0, max: 1, noNaN: true })),
      {
        selector: ([id]) => id,
      }
    );
    fc.assert(
      fc.property(points, (list) => {
        const log = list
          .map(([id, reward]) => `(pid=1) perf ${id}: {'x': [1, {}], '${METRIC}': ${reward}}`)
          .join('\r\n');
        const sorted = [...list].sort(([a], [b]) => (a < b ? -1 : 1));
        expect(extractRewardPoints(log)).toEqual(sorted.map(([rolloutId, reward]) => ({ rolloutId, reward })));
      }),
      { seed: SEED, numRuns: 300 }
    );
  });
});

describe('the reference’s summary and files', () => {
  const points = [0.1, 0.9, 0.9, 0.2].map((reward, at) => ({ rolloutId: BigInt(at), reward }));

  it('take the earliest peak and exactly rounded window means', () => {
    expect(summarizeLogPoints(points, { windowSize: 2n })).toMatchObject({
      peak_rollout_id: 1n,
      first_window_mean: 0.5,
      last_window_mean: 0.55,
      last_minus_first: 0.050000000000000044,
      strictly_improved: true,
    });
  });

  it('refuse steps that are not exactly the expected ones', () => {
    expect(() => summarizeLogPoints(points, { expectedSteps: 5n })).toThrow(
      'Reward rollout ids are incomplete: expected [0, 1, 2, 3, 4], got [0, 1, 2, 3].'
    );
    expect(() => summarizeLogPoints(points, { expectedSteps: 0n })).toThrow('expected_steps must be positive.');
    expect(() => summarizeLogPoints([])).toThrow(`No '${METRIC}' points`);
  });

  it('write Python’s floats and two decimals', () => {
    expect(rewardCsv([{ rolloutId: 12n, reward: 1 }])).toBe('rollout_id,reward\r\n12,1.0\r\n');
    const svg = rewardSvg(points);
    expect(svg).toContain('<polyline points="70.00,327.50 303.33,67.50 536.67,67.50 770.00,295.00" />');
    expect(svg.match(/<circle /g)).toHaveLength(4);
    expect(() => rewardSvg([])).toThrow(RangeError);
  });
});

describe('the reward series of a run', () => {
  const series = (rewards: number[]) => rewards.map((reward, step) => ({ step, reward }));

  it('is summarized when it is complete, in whatever order and however often its points come', () => {
    const points = [...series([0.1, 0.2, 0.4]), { step: 1, reward: 0.2 }].reverse();
    expect(summarizeRewards(points, { steps: 3, window: 1 })).toEqual({
      steps: 3,
      window: 1,
      firstWindowMean: 0.1,
      lastWindowMean: 0.4,
      difference: 0.30000000000000004,
      improved: true,
      peakReward: 0.4,
      peakStep: 2,
      points: series([0.1, 0.2, 0.4]),
    });
  });

  it('is refused with every problem listed when it is not', () => {
    const points = [
      { step: 0, reward: 0.1 },
      { step: 0, reward: 0.2 },
      { step: 9, reward: 0.2 },
      { step: 1, reward: Number.NaN },
    ];
    let error: unknown;
    try {
      summarizeRewards(points, { steps: 3 });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(PipelineError);
    expect((error as PipelineError).details.problems).toEqual([
      'step 0 has two rewards, 0.1 and 0.2',
      'step 9 is not one of 0 to 2',
      'the reward of step 1 is NaN, not between 0 and 1',
      'no usable reward of 2 steps: 1, 2',
    ]);
  });

  it('is read from a log, whose faults are data errors', () => {
    expect(summarizeRewardLog([line(0, 0), line(1, 1)].join('\n'), { steps: 2, window: 1 }).improved).toBe(true);
    expect(() => summarizeRewardLog(line(0, 'nan'), { steps: 1 })).toThrow(/reward log cannot be used: Malformed/);
  });

  it('has a difference of 0 and no improvement when every window is the whole run', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 10 }), (rewards) => {
        const summary = summarizeRewards(series(rewards), { steps: rewards.length });
        expect(summary.difference).toBe(0);
        expect(summary.improved).toBe(false);
        expect(rewards[summary.peakStep]).toBe(summary.peakReward);
      }),
      { seed: SEED, numRuns: 300 }
    );
  });
});
