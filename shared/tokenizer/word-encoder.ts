import {
  BPE,
  ByteLevelPreTokenizer,
  SequencePreTokenizer,
  SplitPreTokenizer,
  type PreTokenizer,
  type Tokenizer as LibraryTokenizer,
} from '@huggingface/tokenizers';
import { AddedTokenScanner, type AddedToken } from './added-tokens.js';
import { toByteCharacters } from './byte-alphabet.js';
import { BytePairs } from './byte-pairs.js';
import { GenerationalCache } from './generational-cache.js';
import { splitterOf, type WordSplitter } from './word-splitter.js';
import type { TokenizerJson } from './tokenizer-files.js';

/** Words kept with their ids; longer ones are too rare to be met again. */
const CACHED_WORDS = 50_000;
const LONGEST_CACHED_WORD = 64;

/** Texts up to this length (UTF-16 units) are cut into a list of words at once, which is faster. */
const LISTED_TEXT = 1_000_000;

/**
 * Encodes with the library's own pieces (pattern, merges, vocabulary), but word by word, so that a word's ids are
 * computed once and then looked up.
 *
 * It is the same as the library's `encode` because, for the tokenizers it accepts, the library too encodes each word
 * (pre-token) by itself: the pattern's matches and the gaps between them go one by one through the byte alphabet and the
 * merges. `wordEncoderFor` refuses every other kind.
 */
export class WordEncoder {
  readonly #cache = new GenerationalCache<readonly number[]>(CACHED_WORDS);

  constructor(
    private readonly pairs: BytePairs,
    private readonly splitter: WordSplitter,
    private readonly raw: AddedTokenScanner,
    private readonly normalized: AddedTokenScanner,
    private readonly isNfc: boolean
  ) {}

  /** The first `limit` ids of the text. */
  encode(text: string, limit: number): number[] {
    const out: number[] = [];
    this.#withoutTokens(text, this.raw, out, limit, (part) => {
      const normal = this.isNfc ? part.normalize('NFC') : part;
      this.#withoutTokens(normal, this.normalized, out, limit, (rest) => this.#words(rest, out, limit));
    });
    if (out.length > limit) out.length = limit;
    return out;
  }

  /** Puts the ids of the scanner's tokens into `out` and gives what lies between them to `between`, in order. */
  #withoutTokens(
    text: string,
    scanner: AddedTokenScanner,
    out: number[],
    limit: number,
    between: (part: string) => void
  ): void {
    let from = 0;
    while (from < text.length && out.length < limit) {
      const match = scanner.find(text, from);
      const end = match?.start ?? text.length;
      if (end > from) between(from === 0 && end === text.length ? text : text.slice(from, end));
      if (match === undefined) return;
      out.push(match.id);
      from = match.end;
    }
  }

  #words(text: string, out: number[], limit: number): void {
    // One at a time where most of the text need not be looked at, or where a list of all its words would be huge.
    const words = limit === Infinity && text.length <= LISTED_TEXT ? this.splitter.all(text) : this.splitter.each(text);
    for (const word of words) {
      for (const id of this.#wordIds(word)) out.push(id);
      if (out.length >= limit) return;
    }
  }

  #wordIds(word: string): readonly number[] {
    const known = this.#cache.get(word);
    if (known !== undefined) return known;
    const ids = this.pairs.encode(toByteCharacters(word));
    if (word.length <= LONGEST_CACHED_WORD) this.#cache.set(word, ids);
    return ids;
  }
}

/** An encoder for a byte-level BPE tokenizer of the usual make (GPT-2, Qwen, Llama 3, …); undefined for any other kind. */
export function wordEncoderFor(library: LibraryTokenizer, json: TokenizerJson): WordEncoder | undefined {
  const { model } = library;
  const splitter = splitterFor(library.pre_tokenizer);
  const normalizer = json.normalizer?.type;
  const isPlain = json.added_tokens.every((token) => !token.lstrip && !token.rstrip && !token.single_word);
  if (!(model instanceof BPE) || splitter === undefined || !isPlain) return undefined;
  if ((model.unk_token ?? null) !== null || model.fuse_unk || model.byte_fallback) return undefined;
  if (model.end_of_word_suffix || model.continuing_subword_suffix || json.model.continuing_subword_prefix)
    return undefined;
  if (normalizer !== undefined && normalizer !== 'NFC') return undefined;
  const isNfc = normalizer === 'NFC';
  const raw: AddedToken[] = [];
  const normalized: AddedToken[] = [];
  for (const { content, id, special, normalized: wanted } of json.added_tokens) {
    if (isNfc && (wanted ?? !special)) normalized.push({ content: content.normalize('NFC'), id });
    else raw.push({ content, id });
  }
  return new WordEncoder(
    new BytePairs(model),
    splitter,
    new AddedTokenScanner(raw),
    new AddedTokenScanner(normalized),
    isNfc
  );
}

/** `Split(pattern, Isolated)` then `ByteLevel` without a pattern of its own, or `ByteLevel` alone. */
function splitterFor(preTokenizer: PreTokenizer | null): WordSplitter | undefined {
  const steps = preTokenizer instanceof SequencePreTokenizer ? preTokenizer.tokenizers : [preTokenizer];
  const last = steps.at(-1);
  if (!(last instanceof ByteLevelPreTokenizer) || last.add_prefix_space) return undefined;
  if (steps.length === 1) return splitterOf(last.use_regex ? withUnicodeSpace(last.pattern) : null);
  const [first] = steps;
  if (steps.length !== 2 || last.use_regex || !(first instanceof SplitPreTokenizer)) return undefined;
  const { behavior, invert } = first.config;
  if (invert || behavior.toLowerCase() !== 'isolated' || first.pattern === null) return undefined;
  return splitterOf(first.pattern);
}

/** The library writes GPT-2's pattern with JavaScript's `\s`, which has U+FEFF and lacks U+0085: the original means Unicode's white space. */
function withUnicodeSpace(pattern: RegExp): RegExp {
  const source = pattern.source.replaceAll('\\s', '\\p{White_Space}').replaceAll('\\S', '\\P{White_Space}');
  return new RegExp(source, pattern.flags);
}
