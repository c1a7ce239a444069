import { describe, expect, it } from 'vitest';
import * as format from '../../../shared/report/format.js';
import { movingMean, readNumberTable } from '../../../shared/report/number-table.js';
import { clip } from '../../../shared/report/samples/clip.js';

const plain = (text: string): string => text.replaceAll(/[\u00a0\u202f]/g, ' ');

describe('numbers for people', () => {
  it('have a real minus sign, and a dash where there is no number', () => {
    expect(format.fixed(-1.25, 1)).toBe('−1.3');
    expect([NaN, null, undefined, Infinity].map((value) => format.fixed(value, 1))).toEqual(['–', '–', '–', '–']);
    expect([1.5, -1.5, 0].map((value) => format.signed(value, 1))).toEqual(['+1.5', '−1.5', '0.0']);
    expect(plain(format.percent(84.375))).toBe('84.4 %');
    expect(plain(format.count(1_234_567))).toBe('1 234 567');
    expect(plain(format.plural(1, 'sample'))).toBe('1 sample');
    expect(plain(format.plural(0, 'sample'))).toBe('0 samples');
    expect([0, 0.012345, 123_456, 1.23e-7, -5e9].map(format.significant)).toEqual([
      '0',
      '0.0123',
      '123000',
      '1.23e−7',
      '−5.00e+9',
    ]);
  });

  it('say times in the unit that fits', () => {
    const texts = [0.44, 9.96, 42, 59.9, 245, 3599.7, 7800, 200_000, undefined].map((value) =>
      plain(format.duration(value))
    );
    expect(texts).toEqual([
      '0.4 s',
      '10.0 s',
      '42 s',
      '1 min 00 s',
      '4 min 05 s',
      '1 h 0 min',
      '2 h 10 min',
      '2 d 8 h',
      '–',
    ]);
    expect(format.dateTime('2026-10-07T10:04:31Z')).toBe('7 Oct 2026, 10:04 UTC');
    expect(format.timeOfDay('2026-10-07T10:04:31Z')).toBe('10:04:31');
    expect([format.dateTime('yesterday'), format.timeOfDay(undefined)]).toEqual(['–', '–']);
    expect(format.secondsBetween('2026-10-07T10:04:31Z', '2026-10-07T10:05:01.5Z')).toBe(30.5);
    expect(format.secondsBetween('x', 'y')).toBeUndefined();
  });

  it('say sizes in decimal units', () => {
    expect([999, 4_200, 42_000, 1.5e9].map((size) => plain(format.bytes(size)))).toEqual([
      '999 B',
      '4.2 kB',
      '42 kB',
      '1.5 GB',
    ]);
  });

  it('give Wilson’s interval (reference values of statsmodels’ proportion_confint, method "wilson")', () => {
    const interval = format.wilsonPercent(231 / 256, 256);
    expect(interval?.low).toBeCloseTo(85.981_51, 3);
    expect(interval?.high).toBeCloseTo(93.297_6, 3);
    expect(format.wilsonPercent(0, 10)?.low).toBe(0);
    expect(format.wilsonPercent(0, 10)?.high).toBeCloseTo(27.753_28, 3);
    expect(format.wilsonPercent(1, 10)?.high).toBeCloseTo(100, 9);
    expect(format.wilsonPercent(0.5, 0)).toBeUndefined();
  });
});

describe('number tables', () => {
  it('are read as columns, with NaN where a line is torn', () => {
    const table = readNumberTable('step,reward\n0,0.5\n1,0.25\n2');
    expect([...table]).toEqual([
      ['step', [0, 1, 2]],
      ['reward', [0.5, 0.25, NaN]],
    ]);
    expect(readNumberTable(undefined).size).toBe(0);
  });

  it('have trailing means that leave out what is no number', () => {
    expect(movingMean([1, 3, NaN, 5], 2)).toEqual([1, 2, 3, 5]);
    expect(movingMean([NaN], 2)).toEqual([NaN]);
  });
});

describe('long texts', () => {
  it('keep their beginning and end, say what is left out, and never cut a pair', () => {
    expect(clip('short', 5)).toBe('short');
    expect(clip('a'.repeat(90) + 'b'.repeat(30), 40)).toBe(
      `${'a'.repeat(30)} […80 characters left out…] ${'b'.repeat(10)}`
    );
    const emoji = '💥'.repeat(100);
    for (let limit = 1; limit < 60; limit += 1) expect(clip(emoji, limit)).not.toMatch(/\p{Surrogate}/u);
  });
});
