import { describe, expect, it } from 'vitest';
import { printable } from '../../../shared/inference/printable.js';
import { parseRetryAfter, retryDelayMs, retryPolicy } from '../../../shared/inference/retry.js';
import { seedFromKey } from '../../../shared/inference/seed.js';

describe('waiting between attempts', () => {
  it('doubles up to the limit, half of it at random', () => {
    const low = retryPolicy({ baseDelayMs: 100, maxDelayMs: 1000, random: () => 0 });
    const high = { ...low, random: () => 1 };
    expect([1, 2, 3, 4, 5, 20].map((failed) => retryDelayMs(low, failed))).toEqual([50, 100, 200, 400, 500, 500]);
    expect([1, 2, 3, 4, 5, 20].map((failed) => retryDelayMs(high, failed))).toEqual([100, 200, 400, 800, 1000, 1000]);
  });

  it('is at least what the server asked for, and at most five minutes more than usual', () => {
    const policy = retryPolicy({ baseDelayMs: 100, random: () => 0 });
    expect(retryDelayMs(policy, 1, 2000)).toBe(2025);
    expect(retryDelayMs(policy, 1, 86_400_000)).toBe(300_025);
  });

  it('reads seconds and dates of Retry-After, and ignores what is neither', () => {
    const now = Date.parse('Sun, 29 Nov 2026 16:00:00 GMT');
    expect(parseRetryAfter('120', now)).toBe(120_000);
    expect(parseRetryAfter('Sun, 29 Nov 2026 16:00:07 GMT', now)).toBe(7000);
    expect(parseRetryAfter('Sun, 29 Nov 2026 15:00:00 GMT', now)).toBe(0);
    expect(parseRetryAfter('soon', now)).toBeUndefined();
    expect(parseRetryAfter(undefined, now)).toBeUndefined();
  });

  it('needs at least one attempt', () => {
    expect(() => retryPolicy({ attempts: 0 })).toThrow(/attempts must be an integer ≥ 1/);
  });
});

describe('text of a server in a message', () => {
  it('has no control, format or lone surrogate character left', () => {
    expect(printable('a\u001b[31mb\u0000\u2028\u202e\ud800é\n😀')).toBe(
      'a\\u{1b}[31mb\\u{0}\\u{2028}\\u{202e}\\u{d800}é\\n😀'
    );
  });

  it('is cut with a note of what was left out', () => {
    expect(printable('x'.repeat(500), 10)).toBe('xxxxxxxxxx… (490 more characters)');
  });
});

it('a seed depends on every part of the sampling key', () => {
  const keys = [
    [1, 0, 0, 0, 0],
    [2, 0, 0, 0, 0],
    [1, 1, 0, 0, 0],
    [1, 0, 1, 0, 0],
    [1, 0, 0, 1, 0],
    [1, 0, 0, 0, 1],
  ] as const;
  expect(new Set(keys.map(seedFromKey)).size).toBe(keys.length);
});
