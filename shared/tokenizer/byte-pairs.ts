import type { BPE } from '@huggingface/tokenizers';
import { MinHeap } from './min-heap.js';
import { PairTable } from './pair-table.js';

/** Up to this many symbols, looking through all pairs for the next merge is faster than a heap of them. */
const SHORT_WORD = 48;

/**
 * Byte-pair merging on ids, in typed arrays.
 *
 * The same merges in the same order as the library's (lowest rank first, leftmost of equal ranks), which keeps an object
 * and a string key for each pair: some fifty times slower for a word not met before, and gigabytes for a word of megabytes.
 */
export class BytePairs {
  readonly #ranks: PairTable;
  /** Id that the merge of a rank makes. */
  readonly #merged: Int32Array;
  /** Ids of the single characters. */
  readonly #characters = new Map<number, number>();
  readonly #isUsable: boolean;

  constructor(private readonly model: BPE) {
    this.#ranks = new PairTable(model.merges.length);
    this.#merged = new Int32Array(model.merges.length);
    this.#isUsable = this.#index();
  }

  /** False when a merge names a token that the vocabulary lacks: then only the library knows what to do. */
  #index(): boolean {
    const { merges, tokens_to_ids: idOf } = this.model;
    for (const [token, id] of idOf) if (token.length === 1) this.#characters.set(token.charCodeAt(0), id);
    for (let rank = 0; rank < merges.length; rank += 1) {
      const [left, right] = merges[rank] as [string, string];
      const leftId = idOf.get(left);
      const rightId = idOf.get(right);
      const mergedId = idOf.get(left + right);
      if (leftId === undefined || rightId === undefined || mergedId === undefined) return false;
      this.#ranks.set(leftId, rightId, rank);
      this.#merged[rank] = mergedId;
    }
    return true;
  }

  /** @param word in the byte alphabet */
  encode(word: string): number[] {
    if (this.model.ignore_merges) {
      const id = this.model.tokens_to_ids.get(word);
      if (id !== undefined) return [id];
    }
    const symbols = this.#isUsable ? this.#symbols(word) : undefined;
    if (symbols === undefined) {
      const tokens = this.model.encode([word]);
      return tokens.map((token) => this.model.tokens_to_ids.get(token) as number);
    }
    return symbols.length <= SHORT_WORD ? this.#mergeShort(symbols) : this.#mergeLong(Int32Array.from(symbols));
  }

  #symbols(word: string): number[] | undefined {
    const symbols = new Array<number>(word.length);
    for (let at = 0; at < word.length; at += 1) {
      const id = this.#characters.get(word.charCodeAt(at));
      if (id === undefined) return undefined;
      symbols[at] = id;
    }
    return symbols;
  }

  #mergeShort(symbols: number[]): number[] {
    for (;;) {
      let best = -1;
      let place = -1;
      for (let at = 0; at + 1 < symbols.length; at += 1) {
        const rank = this.#ranks.get(symbols[at] as number, symbols[at + 1] as number);
        if (rank >= 0 && (best < 0 || rank < best)) {
          best = rank;
          place = at;
        }
      }
      if (best < 0) return symbols;
      symbols.splice(place, 2, this.#merged[best] as number);
    }
  }

  #mergeLong(symbols: Int32Array): number[] {
    const length = symbols.length;
    // Index of the neighbours that are still there; a symbol merged into its left neighbour becomes −1.
    const next = new Int32Array(length).map((_, at) => at + 1);
    const previous = new Int32Array(length).map((_, at) => at - 1);
    const heap = new MinHeap(length);
    const offer = (at: number): void => {
      const right = next[at] as number;
      if (right >= length) return;
      const rank = this.#ranks.get(symbols[at] as number, symbols[right] as number);
      if (rank >= 0) heap.push(rank * length + at);
    };
    for (let at = 0; at < length - 1; at += 1) offer(at);
    for (let key = heap.pop(); key !== undefined; key = heap.pop()) {
      const at = key % length;
      const right = next[at] as number;
      // Entries made before a neighbour changed are stale: what stands there now has another rank, or none.
      if (symbols[at] === -1 || right >= length) continue;
      const rank = (key - at) / length;
      if (this.#ranks.get(symbols[at] as number, symbols[right] as number) !== rank) continue;
      symbols[at] = this.#merged[rank] as number;
      symbols[right] = -1;
      const after = next[right] as number;
      next[at] = after;
      if (after < length) previous[after] = at;
      offer(at);
      const before = previous[at] as number;
      if (before >= 0) offer(before);
    }
    return Array.from(symbols.filter((id) => id !== -1));
  }
}
