/** A token that is cut out of a text before anything else happens to it. */
export interface AddedToken {
  content: string;
  id: number;
}

export interface AddedTokenMatch extends AddedToken {
  /** Index of the first UTF-16 unit. */
  start: number;
  /** Index after the last UTF-16 unit. */
  end: number;
}

/** Finds added tokens in a text: leftmost first, the longest of those that start at the same place. */
export class AddedTokenScanner {
  /** Tokens by their first UTF-16 unit, longest first. */
  readonly #byFirstUnit = new Map<number, AddedToken[]>();
  /** True at the first units of ASCII: almost every unit of a text is refused by this table alone. */
  readonly #asciiStarts = new Uint8Array(128);
  #hasOtherStarts = false;

  constructor(tokens: Iterable<AddedToken>) {
    for (const token of tokens) {
      if (token.content.length > 0) this.#add(token);
    }
    for (const list of this.#byFirstUnit.values()) list.sort((a, b) => b.content.length - a.content.length);
  }

  #add(token: AddedToken): void {
    const first = token.content.charCodeAt(0);
    const list = this.#byFirstUnit.get(first) ?? [];
    // The last definition of a content counts, as in a map.
    this.#byFirstUnit.set(first, [...list.filter((other) => other.content !== token.content), token]);
    if (first < 128) this.#asciiStarts[first] = 1;
    else this.#hasOtherStarts = true;
  }

  get isEmpty(): boolean {
    return this.#byFirstUnit.size === 0;
  }

  /** The first match at or after `from`. */
  find(text: string, from: number): AddedTokenMatch | undefined {
    if (this.isEmpty) return undefined;
    for (let start = from; start < text.length; start += 1) {
      const unit = text.charCodeAt(start);
      if (unit < 128 ? this.#asciiStarts[unit] === 0 : !this.#hasOtherStarts) continue;
      const token = this.#byFirstUnit.get(unit)?.find(({ content }) => text.startsWith(content, start));
      if (token !== undefined) return { ...token, start, end: start + token.content.length };
    }
    return undefined;
  }
}
