import { describe, expect, it } from 'vitest';
import { judge, type JudgeInput } from '../../../shared/scoring/verdict.js';
import { evaluation, judgeInput, model } from './evaluations.js';

const passing = (): JudgeInput => judgeInput(model(10, 10, 5), model(60, 50, 30), model(58, 53, 30));

describe('a verdict', () => {
  it('is passed when the arms are within the tolerance and relax is above the base everywhere', () => {
    const verdict = judge(passing());
    expect(verdict.outcome).toBe('passed');
    expect(verdict.sentence).toContain(
      'Passed: vime and relax differ by at most 3 points of sub-EM at lengths 4 and 8 (3 allowed), and relax is above the frozen base at every length and, in boxed EM, on the development set.'
    );
    expect(verdict.pairs.map(({ length, gap_points, passed }) => [length, gap_points.toFixed(6), passed])).toEqual([
      [4, '2.000000', true],
      [8, '3.000000', true],
    ]);
    expect([verdict.reasons, verdict.failed_checks]).toEqual([[], []]);
  });

  it('is not passed when one length is beyond the tolerance, even by the last bit', () => {
    const input = judgeInput(model(0, 10, 5), model(4, 50, 30), model(7, 50, 30));
    // 7 of 100 are 7.000000000000001 percent.
    const verdict = judge(input);
    expect(verdict.outcome).toBe('not-passed');
    expect(verdict.failed_checks).toEqual([
      'at length 4 vime and relax differ by 3.000000000000001 points of sub-EM (7 % and 4 %; 3 allowed)',
    ]);
  });

  it('is not passed when relax only equals the base, and says at which length and on which set', () => {
    const verdict = judge(judgeInput(model(60, 10, 30), model(60, 50, 30), model(60, 50, 49)));
    expect(verdict.failed_checks).toEqual([
      'at length 4 relax (60 % sub-EM) is not above the frozen base (60 %)',
      'on the development set relax (60 % boxed EM) is not above the frozen base (60 %)',
    ]);
    expect(verdict.sentence).toContain(verdict.failed_checks.join('; '));
  });

  it('does not depend on the vime arm being above the base, but shows it', () => {
    const verdict = judge(judgeInput(model(60, 10, 5), model(61, 50, 30), model(59, 50, 30)));
    expect(verdict.outcome).toBe('passed');
    const row = verdict.baselines.find(({ arm, length }) => arm === 'vime' && length === 4);
    expect(row).toMatchObject({ required: false, passed: false, improvement_points: -1 });
  });

  it('asks it of every arm when none is of flavour relax', () => {
    const input = judgeInput(model(60, 10, 5), model(61, 50, 30), model(59, 50, 30));
    const verdict = judge({ ...input, arms: input.arms.map((arm) => ({ ...arm, flavour: 'vime' as const })) });
    expect(verdict.outcome).toBe('not-passed');
    expect(verdict.failed_checks).toHaveLength(1);
  });

  it('compares every two of three arms', () => {
    const input = passing();
    const third = { name: 'relax-share', flavour: 'relax' as const, evaluations: model(30, 50, 30) };
    const verdict = judge({ ...input, arms: [...input.arms, third] });
    expect(verdict.pairs).toHaveLength(6);
    expect(verdict.failed_checks.every((text) => text.includes('relax-share'))).toBe(true);
  });
});

describe('no verdict', () => {
  it('is given for a diagnostic run, however good its numbers are; they are there', () => {
    const verdict = judge({ ...passing(), diagnostic: true });
    expect(verdict.outcome).toBe('not-comparable');
    expect(verdict.sentence).toContain('the recipe is marked as diagnostic');
    expect(verdict.sentence).toContain('never an acceptance result');
    expect(verdict.pairs).toEqual(judge(passing()).pairs);
    expect(judge({ ...passing(), diagnostic: false })).toEqual(judge(passing()));
  });

  it('is given when evaluations are incomplete, differ in a controlled field, or are missing: every reason is listed', () => {
    const input = passing();
    const relax = {
      ...model(60, 50, 30),
      eval_4: evaluation(100, 60, { summary: { temperature: 0.8, data_sha256: 'cd'.repeat(32) } }),
      eval_8: evaluation(100, 50, { summary: { errors: 2, successful: 98 } }),
    };
    const vime: Record<string, ReturnType<typeof evaluation>> = model(58, 53, 30);
    delete vime['dev'];
    const verdict = judge(judgeInput(input.base, relax, vime));
    expect(verdict.outcome).toBe('not-comparable');
    expect(verdict.reasons).toEqual([
      'Length 4: the models were not evaluated alike: data_sha256 is abababababab… (base), cdcdcdcdcdcd… (relax) and abababababab… (vime).',
      'Length 4: the models were not evaluated alike: temperature is 0.7 (base), 0.8 (relax) and 0.7 (vime).',
      'Length 8: the evaluation of relax is not complete (total=100, successful=98, errors=2).',
      'Length 8: the samples of relax do not give the successful and errors of its summary.',
      'The development set: vime was not evaluated.',
    ]);
    expect(verdict.sentence).toMatch(/^Not comparable, so there is no verdict: .*; and 2 more reasons\./);
    expect(verdict.failed_checks).toEqual([]);
  });

  it('is given when samples do not give their summary or are not the same ones', () => {
    const input = passing();
    const tampered = evaluation(100, 60, { summary: { sub_em_pct: 61, sub_em: 0.61 } });
    const other = evaluation(100, 50);
    const shifted = {
      ...other,
      samples: (other.samples ?? []).map((sample, at) => ({ ...sample, _id: `item-${at + 1}` })),
    };
    const verdict = judge(
      judgeInput(input.base, { ...model(60, 50, 30), eval_4: tampered, eval_8: shifted }, model(58, 53, 30))
    );
    expect(verdict.reasons).toEqual([
      'Length 4: the samples of relax do not give the sub_em and sub_em_pct of its summary.',
      'Length 8: base and relax were not evaluated on the same samples in the same order.',
    ]);
  });

  it('is given for a single arm, for no length, and for models of one name', () => {
    const input = passing();
    expect(judge({ ...input, arms: input.arms.slice(0, 1) }).outcome).toBe('not-comparable');
    expect(judge({ ...input, lengths: [] }).reasons).toEqual(['No evaluation length was chosen.']);
    const twins = input.arms.map((arm) => ({ ...arm, name: 'relax' }));
    expect(judge({ ...input, arms: twins }).reasons).toEqual(['Two models have the same name.']);
  });

  it('refuses a tolerance that is no number of points', () => {
    for (const tolerancePoints of [Number.NaN, -1]) {
      expect(() => judge({ ...passing(), tolerancePoints })).toThrow(RangeError);
    }
  });
});

describe('what a verdict discloses', () => {
  it('marks truncated contexts and never calls them full context', () => {
    const input = passing();
    const cut = { ...model(60, 50, 30), eval_8: evaluation(100, 50, { truncated: 7 }) };
    const verdict = judge(
      judgeInput({ ...input.base, eval_8: evaluation(100, 10, { truncated: 7 }) }, cut, {
        ...model(58, 53, 30),
        eval_8: evaluation(100, 53, { truncated: 7 }),
      })
    );
    expect(verdict.outcome).toBe('passed');
    expect(verdict.contexts).toContainEqual({
      dataset: 'eval_8',
      length: 8,
      samples: 100,
      max_chunks: 64,
      beyond_max_chunks: 7,
      full_context: false,
    });
    expect(verdict.sentence).toContain(
      'At length 8, 7 of 100 contexts are longer than 64 chunks and only their beginning was read: this is not a full-context result.'
    );
    expect(verdict.notes).toContain('Length 4: all 100 contexts were read to their end.');
  });

  it('counts truncated contexts from the samples when the summary hides them', () => {
    const input = passing();
    const hidden = evaluation(100, 60, { truncated: 3, summary: { contexts_truncated: 0 } });
    const verdict = judge(judgeInput(input.base, { ...model(60, 50, 30), eval_4: hidden }, model(58, 53, 30)));
    expect(verdict.contexts[0]).toMatchObject({ beyond_max_chunks: 3, full_context: false });
  });

  it('says the smallest difference that the samples can show, and that the tolerance is finer', () => {
    const verdict = judge(passing());
    expect(verdict.sentence).toContain(
      'With 100 samples a length, a difference below 6 points cannot be told from chance.'
    );
    expect(verdict.notes.join('\n')).toContain('The tolerance of 3 points is finer than that');
  });

  it('keeps statistics apart from the rule and gives them for every pair', () => {
    const [row] = judge(passing()).pairs;
    expect(row?.statistics).toMatchObject({
      label: 'additional, not part of the rule',
      samples: 100,
      only_first: 0,
      only_second: 2,
      mcnemar_p: 0.5,
      smallest_possible_points: 6,
    });
  });

  it('shows vime’s own sub-EM beside the scores, which counts empty predictions', () => {
    const [row] = judge(passing()).scores;
    expect(row).toMatchObject({ model: 'base', dataset: 'eval_4', sub_em_pct: 10, vime_sub_em_pct: 100 });
  });

  it('shows the reward trend of the arms whose series is known', () => {
    const input = passing();
    const rewards = {
      steps: 2,
      window: 1,
      firstWindowMean: 0.1,
      lastWindowMean: 0.3,
      difference: 0.2,
      improved: true,
      peakReward: 0.3,
      peakStep: 1,
      points: [],
    };
    const arms = input.arms.map((arm, at) => (at === 0 ? { ...arm, rewards } : arm));
    expect(judge({ ...input, arms }).rewards).toEqual([
      { arm: 'relax', steps: 2, first_window_mean: 0.1, last_window_mean: 0.3, difference: 0.2, improved: true },
    ]);
  });

  it('says that the development set was left out when there is none', () => {
    const verdict = judge({ ...passing(), devDataset: null });
    expect(verdict.outcome).toBe('passed');
    expect(verdict.sentence).not.toContain('development');
    expect(verdict.notes).toContain('No development set was given: its part of the rule was left out.');
  });

  it('is the same bytes for the same input, and plain JSON', () => {
    const text = JSON.stringify(judge(passing()));
    expect(JSON.stringify(judge(passing()))).toBe(text);
    expect(JSON.parse(text)).toEqual(judge(passing()));
    expect(text).not.toMatch(/\d{4}-\d{2}-\d{2}|data\/eval/);
  });
});
