import type { BPE } from '@huggingface/tokenizers';
import { MinHeap } from './min-heap.js';

/**
 * Byte-pair merging of one very long word (a run of a million letters, say) in typed arrays.
 *
 * The same merges in the same order as the library: lowest rank first, leftmost of equal ranks. The library keeps an
 * object and a string key for each pair, which for a word of megabytes is gigabytes.
 */
export class LongWordMerger {
  /** Rank of a pair of ids; the key is left × ids + right. */
  readonly #ranks = new Map<number, number>();
  /** Id that the merge of a rank makes. */
  readonly #merged: Int32Array;
  readonly #ids: number;
  /** False when a merge names a token that the vocabulary lacks: then only the library knows what to do. */
  readonly isUsable: boolean;

  constructor(private readonly model: BPE) {
    this.#ids = model.vocab.length;
    this.#merged = new Int32Array(model.merges.length);
    this.isUsable = this.#index();
  }

  #index(): boolean {
    const { merges, tokens_to_ids: idOf } = this.model;
    for (const [rank, [left, right]] of merges.entries()) {
      const leftId = idOf.get(left);
      const rightId = idOf.get(right);
      const mergedId = idOf.get(left + right);
      if (leftId === undefined || rightId === undefined || mergedId === undefined) return false;
      this.#ranks.set(leftId * this.#ids + rightId, rank);
      this.#merged[rank] = mergedId;
    }
    return true;
  }

  /**
   * @param word in the byte alphabet
   * @returns token ids, or undefined when the vocabulary lacks one of the characters
   */
  encode(word: string): number[] | undefined {
    const symbols = new Int32Array(word.length);
    for (let at = 0; at < word.length; at += 1) {
      const id = this.model.tokens_to_ids.get(word.charAt(at));
      if (id === undefined) return undefined;
      symbols[at] = id;
    }
    return this.#merge(symbols);
  }

  #merge(symbols: Int32Array): number[] {
    const length = symbols.length;
    // Index of the neighbours that are still there; a symbol merged into its left neighbour becomes −1.
    const next = Int32Array.from({ length }, (_, at) => at + 1);
    const previous = Int32Array.from({ length }, (_, at) => at - 1);
    const heap = new MinHeap(length);
    const offer = (at: number): void => {
      const right = next[at] as number;
      if (right >= length) return;
      const rank = this.#rank(symbols, at, right);
      if (rank !== undefined) heap.push(rank * length + at);
    };
    for (let at = 0; at < length - 1; at += 1) offer(at);
    for (let key = heap.pop(); key !== undefined; key = heap.pop()) {
      const at = key % length;
      const right = next[at] as number;
      // Entries made before a neighbour changed are stale: what stands there now has another rank, or none.
      if (symbols[at] === -1 || right >= length) continue;
      const rank = (key - at) / length;
      if (this.#rank(symbols, at, right) !== rank) continue;
      symbols[at] = this.#merged[rank] as number;
      symbols[right] = -1;
      const after = next[right] as number;
      next[at] = after;
      if (after < length) previous[after] = at;
      offer(at);
      const before = previous[at] as number;
      if (before >= 0) offer(before);
    }
    return Array.from(symbols).filter((id) => id !== -1);
  }

  #rank(symbols: Int32Array, left: number, right: number): number | undefined {
    return this.#ranks.get((symbols[left] as number) * this.#ids + (symbols[right] as number));
  }
}
