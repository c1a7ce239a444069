const WORD_CHARACTER = /^[\p{L}\p{N}_]$/u;
const SPACES = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/y;
const DIGITS = /\p{Nd}+/uy;

/** A line `word N: {python dict}`: where it begins, its number and the dict, both as written. */
export interface MetricLine {
  at: number;
  digits: string;
  payload: string;
}

/**
 * First `word N: {…}` of a line, where `word` begins a word; the dict reaches to the last brace of the line. Each candidate is
 * scanned once, so a hostile line takes linear time.
 */
export function findMetricLine(line: string, word: string): MetricLine | null {
  const lastBrace = line.lastIndexOf('}');
  for (let at = line.indexOf(word); at !== -1; at = line.indexOf(word, at + 1)) {
    if (at > 0 && WORD_CHARACTER.test(characterBefore(line, at))) continue;
    const digitsAt = skip(SPACES, line, at + word.length);
    const digitsEnd = digitsAt === null ? null : skip(DIGITS, line, digitsAt);
    if (digitsAt === null || digitsEnd === null || line.charAt(digitsEnd) !== ':') continue;
    const open = skip(SPACES, line, digitsEnd + 1);
    if (open === null || line.charAt(open) !== '{' || lastBrace < open) continue;
    return { at, digits: line.slice(digitsAt, digitsEnd), payload: line.slice(open, lastBrace + 1) };
  }
  return null;
}

function characterBefore(line: string, at: number): string {
  const two = line.slice(Math.max(0, at - 2), at);
  return Array.from(two).at(-1) ?? '';
}

/** End of a match at `at`, or null. */
function skip(pattern: RegExp, line: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(line) ? pattern.lastIndex : null;
}
