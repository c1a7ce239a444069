/** A token that is cut out of a text before anything else happens to it. */
export interface AddedToken {
  content: string;
  id: number;
}

export interface AddedTokenMatch {
  id: number;
  /** Index of the first UTF-16 unit. */
  start: number;
  /** Index after the last UTF-16 unit. */
  end: number;
}

/** Finds added tokens in a text: leftmost first, the longest of those that start at the same place. */
export class AddedTokenScanner {
  /** Tokens of two and more units by their first two units, longest first. */
  readonly #byFirstTwo = new Map<number, AddedToken[]>();
  readonly #single = new Map<number, AddedToken>();
  /** Which units of ASCII start a token: almost every unit of an ordinary text is refused by this table alone. */
  readonly #asciiStarts = new Uint8Array(128);
  #hasOtherStarts = false;

  constructor(tokens: Iterable<AddedToken>) {
    for (const token of tokens) {
      if (token.content.length > 0) this.#add(token);
    }
    for (const list of this.#byFirstTwo.values()) list.sort((a, b) => b.content.length - a.content.length);
  }

  #add(token: AddedToken): void {
    const { content } = token;
    const first = content.charCodeAt(0);
    if (first < 128) this.#asciiStarts[first] = 1;
    else this.#hasOtherStarts = true;
    if (content.length === 1) {
      this.#single.set(first, token);
      return;
    }
    const key = firstTwo(content, 0);
    // The last definition of a content counts, as in a map.
    const others = (this.#byFirstTwo.get(key) ?? []).filter((other) => other.content !== content);
    this.#byFirstTwo.set(key, [...others, token]);
  }

  get isEmpty(): boolean {
    return this.#byFirstTwo.size === 0 && this.#single.size === 0;
  }

  /** The first match at or after `from`. */
  find(text: string, from: number): AddedTokenMatch | undefined {
    if (this.isEmpty) return undefined;
    const { length } = text;
    for (let start = from; start < length; start += 1) {
      const unit = text.charCodeAt(start);
      if (unit < 128 ? this.#asciiStarts[unit] === 0 : !this.#hasOtherStarts) continue;
      const token = this.#at(text, start, unit);
      if (token !== undefined) return { id: token.id, start, end: start + token.content.length };
    }
    return undefined;
  }

  #at(text: string, start: number, unit: number): AddedToken | undefined {
    const list = start + 1 < text.length ? this.#byFirstTwo.get(firstTwo(text, start)) : undefined;
    if (list !== undefined) {
      for (const token of list) if (text.startsWith(token.content, start)) return token;
    }
    return this.#single.get(unit);
  }
}

function firstTwo(text: string, at: number): number {
  return text.charCodeAt(at) * 0x10000 + text.charCodeAt(at + 1);
}
