import { pyStrip } from '../data/python/value.js';

/** White space of Python's `str.split()`: U+0085 and U+001C–001F are in, U+FEFF and U+200B are not. */
const WHITE_SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

/** Python's `string.punctuation`: the ASCII punctuation and nothing else. */
const PUNCTUATION = /[!-/:-@[-`{-~]/g;

/** The articles as whole words; a word character is a letter, a number or an underscore of any script, but no mark. */
const ARTICLES = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu;

/** Words between white space (Python's `str.split()`); no empty ones. */
export function splitWords(text: string): string[] {
  const stripped = pyStrip(text);
  return stripped === '' ? [] : stripped.split(WHITE_SPACE);
}

/**
 * HotpotQA's answer normalization: lower case, ASCII punctuation dropped, the words a, an and the replaced by a space, white
 * space collapsed. Accents, dashes and quotes beyond ASCII stay.
 */
export function normalizeAnswer(answer: string): string {
  const words = answer.toLowerCase().replace(PUNCTUATION, '').replace(ARTICLES, ' ');
  return splitWords(words).join(' ');
}

/** The last `count` code points of a text (Python's `text[-count:]`); a lone surrogate counts as one. */
export function lastCodePoints(text: string, count: number): string {
  let at = text.length;
  for (let left = count; left > 0 && at > 0; left -= 1) {
    at -= 1;
    if (at > 0 && isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1))) at -= 1;
  }
  return text.slice(at);
}

/** `needle in haystack` by code points: half of a surrogate pair is not contained in the pair. */
export function containsText(haystack: string, needle: string): boolean {
  for (let at = haystack.indexOf(needle); at !== -1; at = haystack.indexOf(needle, at + 1)) {
    if (!splitsPair(haystack, at) && !splitsPair(haystack, at + needle.length)) return true;
  }
  return false;
}

function splitsPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at));
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
