import type { Tokenizer } from '../tokenizer/types.js';
import { checkLimits } from './limits.js';

export interface BoundedText {
  text: string;
  /** Tokens of `text` when it is tokenized by itself; at most the cap. */
  length: number;
}

/**
 * A text with at most `maxTokens` tokens: cut after that many ids, decoded without special tokens, and, where the decoded
 * text has more ids than before (decoding and encoding need not undo each other), shortened by characters from its end.
 *
 * @throws PipelineError RecipeInvalid when `maxTokens` is not positive
 */
export function truncateToTokens(tokenizer: Tokenizer, text: string, maxTokens: number): BoundedText {
  checkLimits({ memoryTokens: maxTokens });
  const ids = tokenizer.encode(text, maxTokens + 1);
  const decoded = tokenizer.decode(ids.slice(0, maxTokens), { skipSpecialTokens: true });
  // An equal text has equal ids, which have just been counted.
  if (decoded === text && ids.length <= maxTokens) return { text, length: ids.length };
  return shortenToFit(tokenizer, decoded, maxTokens);
}

function shortenToFit(tokenizer: Tokenizer, text: string, maxTokens: number): BoundedText {
  let bounded = text;
  let length = tokenizer.encode(bounded, maxTokens + 1).length;
  while (length > maxTokens && bounded.length > 0) {
    bounded = withoutLastCodePoint(bounded);
    length = tokenizer.encode(bounded, maxTokens + 1).length;
  }
  return { text: bounded, length };
}

function withoutLastCodePoint(text: string): string {
  const isPair = /[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(-2));
  return text.slice(0, isPair ? -2 : -1);
}
