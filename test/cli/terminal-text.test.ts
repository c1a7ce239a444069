import { describe, expect, it } from 'vitest';
import { sparkline } from '../../cli/terminal/sparkline.js';
import { bytes, compact, duration, plural, secondsBetween } from '../../cli/terminal/units.js';

describe('sparkline', () => {
  it('draws values on the scale 0 … 1', () => {
    expect(sparkline([0, 0.2, 0.5, 0.99, 1], 10)).toBe('▁▂▅██');
    expect(sparkline([], 10)).toBe('');
    expect(sparkline([-1, 2, Number.NaN], 10)).toBe('▁█ ');
  });

  it('averages when there are more values than places', () => {
    const values = Array.from({ length: 100 }, (_, i) => (i < 50 ? 0 : 1));
    expect(sparkline(values, 4)).toBe('▁▁██');
    expect(sparkline(values, 3)).toHaveLength(3);
  });
});

describe('units', () => {
  it('write durations so that a person can read them', () => {
    const expected: [number, string][] = [
      [0, '0.0 s'],
      [4.24, '4.2 s'],
      [9.96, '10 s'],
      [59.4, '59 s'],
      [59.6, '1 min 00 s'],
      [187, '3 min 07 s'],
      [7500, '2 h 05 min'],
      [273_600, '3 d 04 h'],
      [Number.NaN, '?'],
    ];
    for (const [seconds, text] of expected) expect(duration(seconds)).toBe(text);
  });

  it('write counts and sizes shortly', () => {
    expect([3.14, 950, 31_234, 1_400_000].map(compact)).toEqual(['3.1', '950', '31.2k', '1.4M']);
    expect([17, 1_234, 5_600_000, 7e9].map(bytes)).toEqual(['17 bytes', '1.2 kB', '5.6 MB', '7.0 GB']);
    expect(plural(1, 'retry', 'retries')).toBe('1 retry');
    expect(plural(0, 'file')).toBe('0 files');
  });

  it('measure between times, never negatively', () => {
    expect(secondsBetween('2026-01-01T00:00:00Z', '2026-01-01T00:01:30Z')).toBe(90);
    expect(secondsBetween('2026-01-01T00:01:30Z', '2026-01-01T00:00:00Z')).toBe(0);
  });
});
