import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanLatex, extractLastBoxed, findLastBox, unwrapBox } from '../../../shared/scoring/boxed.js';
import { scoreResponse } from '../../../shared/scoring/metrics.js';
import { containsText, lastCodePoints, normalizeAnswer, splitWords } from '../../../shared/scoring/normalize.js';
import { scoreTrajectory } from '../../../shared/scoring/reward.js';
import { HOSTILE_TEXTS, hugeText } from '../../fixtures/hostile.js';

const SEED = 20_260_703;
const anyText = fc.string({ unit: 'binary' });

describe('answer normalization', () => {
  it.each([
    ['The Beatles!', 'beatles'],
    ['an apple a day', 'apple day'],
    ['theatre', 'theatre'],
    ['the\u0301', '\u0301'],
    ['the\u4e2d', 'the\u4e2d'],
    ['a\u00b2', 'a\u00b2'],
    ['\ud83d\ude00 the \ud83d\ude00', '\ud83d\ude00 \ud83d\ude00'],
    ['New\u0085\u001cYork\u3000x', 'new york x'],
    ['\ufeffParis', '\ufeffparis'],
    ['\u039f\u0394\u039f\u03a3.', '\u03bf\u03b4\u03bf\u03c2'],
    ['\u0130', 'i\u0307'],
    ['1,000 $', '1000'],
    ['\u201cx\u201d', '\u201cx\u201d'],
  ])('makes %j to %j', (answer, normalized) => {
    expect(normalizeAnswer(answer)).toBe(normalized);
  });

  it('leaves single-spaced lower-case words without ASCII punctuation', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (answer) => {
        const once = normalizeAnswer(answer);
        expect(splitWords(once).join(' ')).toBe(once);
        expect(once).toBe(once.toLowerCase());
        expect(once).not.toMatch(/[!-/:-@[-`{-~]/);
      }),
      { seed: SEED, numRuns: 1000 }
    );
  });
});

describe('code points', () => {
  it('takes the last code points, never half a pair', () => {
    expect(lastCodePoints('a\ud83d\ude00b', 2)).toBe('\ud83d\ude00b');
    expect(lastCodePoints('\ude00b', 2)).toBe('\ude00b');
    expect(lastCodePoints('ab', 300)).toBe('ab');
    fc.assert(
      fc.property(anyText, fc.nat({ max: 12 }), (text, count) => {
        expect(lastCodePoints(text, count)).toBe(count === 0 ? '' : Array.from(text).slice(-count).join(''));
      }),
      { seed: SEED, numRuns: 1000 }
    );
  });

  it('does not find half of a surrogate pair in the pair', () => {
    expect(containsText('x\ud83d\ude00', '\ud83d')).toBe(false);
    expect(containsText('x\ud83d\ude00', '\ude00')).toBe(false);
    expect(containsText('\ud83d\ude00 \ud83d', '\ud83d')).toBe(true);
    expect(containsText('abc', '')).toBe(true);
  });
});

describe('boxes', () => {
  it('relax takes the last box only, also when it is not closed', () => {
    expect(extractLastBoxed('\\boxed{a} \\fbox{ b }')).toBe('b');
    expect(extractLastBoxed('\\boxed{a} \\boxed{b')).toBe('');
    expect(extractLastBoxed('\\boxed{a} \\boxed')).toBe('a');
    expect(extractLastBoxed('\\boxed{{a}{b}}')).toBe('{a}{b}');
  });

  it('vime lets a box with a space win and cannot unwrap \\fbox', () => {
    expect(findLastBox('\\boxed Paris$ \\boxed{London}')).toBe('\\boxed Paris');
    expect(unwrapBox('\\boxed Paris')).toBe('Paris');
    expect(findLastBox('\\fbox{a}')).toBe('\\fbox{a}');
    expect(unwrapBox('\\fbox{a}')).toBeNull();
    expect(findLastBox('none')).toBeNull();
  });

  it('vime cleans LaTeX up in its own order', () => {
    expect(cleanLatex('\\left( \\dfrac{.5}{2}\\right)^{\\circ} \\%')).toBe('(\\frac{0.5}{2})');
    expect(cleanLatex('a .5')).toBe('a0.5');
    expect(cleanLatex('$&')).toBe('$&');
  });
});

describe('the reward of a trajectory', () => {
  const score = (flavour: 'relax' | 'vime', finalOutput: string, groundTruth: string[] = ['Paris']) =>
    scoreTrajectory(flavour, { finalOutput, groundTruth });

  it('names why a trajectory got its reward, for both flavours', () => {
    for (const flavour of ['relax', 'vime'] as const) {
      expect(score(flavour, '\\boxed{paris}')).toEqual({
        score: 1,
        prediction: 'paris',
        groundTruth: 'Paris',
        diagnostic: 'matched',
      });
      expect(score(flavour, 'Paris').diagnostic).toBe('missing_boxed');
      expect(score(flavour, '\\boxed{London}').diagnostic).toBe('answer_mismatch');
    }
  });

  it('differs between the flavours exactly where the references differ', () => {
    expect(score('relax', '\\boxed{The Paris!}').score).toBe(1);
    expect(score('vime', '\\boxed{The Paris!}').score).toBe(0);
    expect(score('relax', '\\fbox{Paris}').score).toBe(1);
    expect(score('vime', '\\fbox{Paris}').score).toBe(0);
    expect(score('relax', '\\boxed Paris').score).toBe(0);
    expect(score('vime', '\\boxed Paris').score).toBe(1);
    expect(score('relax', '\\boxed{}', ['']).score).toBe(0);
    expect(score('vime', '\\boxed{}', ['']).score).toBe(1);
  });

  it('looks at the last 300 code points only', () => {
    const box = '\\boxed{Paris}';
    expect(score('relax', box + '\ud83d\ude00'.repeat(300 - box.length)).score).toBe(1);
    expect(score('relax', box + '\ud83d\ude00'.repeat(301 - box.length)).score).toBe(0);
  });

  it('falls back to the response and to the label', () => {
    expect(scoreTrajectory('relax', { response: '\\boxed{x}', label: 'x' }).score).toBe(1);
    expect(
      scoreTrajectory('vime', { finalOutput: '', response: '\\boxed{x}', label: 'x', groundTruth: [] }).score
    ).toBe(1);
    expect(scoreTrajectory('relax', { finalOutput: '\\boxed{x}' })).toMatchObject({ score: 0, groundTruth: '' });
  });

  it('accepts any of several answers', () => {
    expect(score('relax', '\\boxed{NYC}', ['New York', 'NYC'])).toMatchObject({ score: 1, groundTruth: 'New York' });
  });

  it('is 0 or 1 and throws for no text, whatever the model puts out', () => {
    fc.assert(
      fc.property(anyText, anyText, fc.constantFrom('\\boxed{', '\\boxed ', '\\fbox{', ''), (before, answer, box) => {
        for (const flavour of ['relax', 'vime'] as const) {
          const result = score(flavour, `${before}${box}${answer}}`, [answer]);
          expect([0, 1]).toContain(result.score);
          expect(result.diagnostic === 'matched').toBe(result.score === 1);
        }
      }),
      { seed: SEED, numRuns: 1000 }
    );
  });

  it.each(HOSTILE_TEXTS)('scores an output of $name like any other', ({ text }) => {
    for (const flavour of ['relax', 'vime'] as const) {
      expect(score(flavour, `${text}\\boxed{Paris}`).score).toBe(1);
      expect(score(flavour, text).score).toBe(0);
    }
  });

  it('takes outputs of ten million characters without slowing down on any pattern', () => {
    const size = 10_000_000;
    const units = [
      '\\boxed{',
      '{',
      '}',
      '\\boxed ',
      ' a ',
      'the ',
      '\u0301',
      '\ud83d\ude00',
      '\ud83d',
      '$',
      '\\\\',
      ' ',
    ];
    for (const text of [hugeText(size), ...units.map((unit) => unit.repeat(size / unit.length))]) {
      for (const flavour of ['relax', 'vime'] as const) expect(score(flavour, text).score).toBe(0);
      expect(score('relax', `${text}\\boxed{Paris}`).score).toBe(1);
      expect(scoreResponse(text, ['Paris']).judge_boxed_em).toBe(0);
    }
  });

  it('normalizes a million characters of white space, punctuation, articles or marks', () => {
    for (const unit of [' ', '.', 'a ', 'the', '\u0301', '\u3000x', 'A\u0345', '\u03a3']) {
      expect(normalizeAnswer(unit.repeat(1_000_000 / unit.length)).length).toBeLessThanOrEqual(1_000_000);
    }
  });
});
