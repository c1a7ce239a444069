import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanLine, cleanText } from '../../cli/terminal/clean-text.js';

const FORBIDDEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;

describe('cleanText', () => {
  it('removes colours, cursor movements, titles, links and other terminal sequences with their content', () => {
    expect(cleanText('a\u001b[31mred\u001b[0m b')).toBe('ared b');
    expect(cleanText('a\u001b[2J\u001b[1;1Hb')).toBe('ab');
    expect(cleanText('a\u001b]0;title\u0007b')).toBe('ab');
    expect(cleanText('a\u001b]8;;http://evil\u001b\\link\u001b]8;;\u001b\\b')).toBe('alinkb');
    expect(cleanText('a\u009b31mb')).toBe('ab');
    expect(cleanText('a\u001bPdevice\u001b\\b')).toBe('ab');
    expect(cleanText('a\u001bcb')).toBe('ab');
    expect(cleanText('a\u001b]0;no end')).toBe('a0;no end');
  });

  it('makes controls, invisible and direction-changing characters visible as a space', () => {
    expect(cleanText('a\u0000b\u0008c\u007fd')).toBe('a b c d');
    expect(cleanText('user\u202eexe.txt')).toBe('user exe.txt');
    expect(cleanText('pass\u200bword')).toBe('pass word');
  });

  it('keeps line breaks, other scripts and emoji', () => {
    expect(cleanText('one\r\ntwo\rthree')).toBe('one\ntwo\nthree');
    expect(cleanText('żółć 東京 👍')).toBe('żółć 東京 👍');
  });

  it('cuts long texts without breaking a character', () => {
    expect(cleanText('x'.repeat(10_000_000), 10)).toBe('xxxxxxxxxx…');
    expect(cleanText('👍'.repeat(100), 5).isWellFormed()).toBe(true);
  });

  it('never lets a control character through, whatever the text', () => {
    const hostile = fc.array(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.constantFrom('\u001b[', '\u001b]', '\u009b', '\u001bP', '31m', '\u0007', '\u001b\\')
      ),
      { maxLength: 20 }
    );
    fc.assert(
      fc.property(hostile, (parts) => {
        const clean = cleanText(parts.join(''));
        expect(clean).not.toMatch(FORBIDDEN);
        expect(cleanLine(parts.join(''))).not.toContain('\n');
        expect(clean.isWellFormed()).toBe(true);
      }),
      { seed: 7, numRuns: 500 }
    );
  });
});
