/** Cuts a text into words (pre-tokens): the matches of a pattern and whatever lies between them. */
export interface WordSplitter {
  /** All words at once: the fastest way. */
  all(text: string): readonly string[];
  /** One word at a time, for a text of which only the beginning is needed. */
  each(text: string): Iterable<string>;
}

/** Where the pattern language's and JavaScript's white space differ: U+0085 is only in the first, U+FEFF only in the second. */
const DISPUTED_SPACE = /[\u0085\ufeff]/;

/** @param pattern a global pattern without look-behind state; null = the whole text is one word */
export function splitterOf(pattern: RegExp | null): WordSplitter {
  if (pattern === null) return { all: (text) => [text], each: (text) => [text] };
  const quick = quickTwin(pattern);
  const choose = (text: string) => (quick === undefined || DISPUTED_SPACE.test(text) ? pattern : quick);
  return {
    all: (text) => allWords(text, choose(text)),
    each: (text) => eachWord(text, choose(text)),
  };
}

/**
 * The pattern with `\s` and `\S` in place of Unicode's white-space property: the same for a text without the two disputed
 * characters, and more than twice as fast.
 */
function quickTwin(pattern: RegExp): RegExp | undefined {
  const source = pattern.source.replaceAll('\\p{White_Space}', '\\s').replaceAll('\\P{White_Space}', '\\S');
  return source === pattern.source ? undefined : new RegExp(source, pattern.flags);
}

function allWords(text: string, pattern: RegExp): readonly string[] {
  const matches: readonly string[] = text.match(pattern) ?? [];
  let covered = 0;
  for (const match of matches) covered += match.length;
  // The usual patterns leave no gap; a gap is a word as well, and an empty match is none.
  return covered === text.length && !matches.includes('') ? matches : [...eachWord(text, pattern)];
}

function* eachWord(text: string, pattern: RegExp): Generator<string> {
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > end) yield text.slice(end, match.index);
    if (match[0] !== '') yield match[0];
    end = match.index + match[0].length;
  }
  if (end < text.length) yield text.slice(end);
}
