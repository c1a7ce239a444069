const EMPTY = -1;

/** Ranks of pairs of ids: an open-addressing hash table in typed arrays, several times as fast as a map of number keys. */
export class PairTable {
  readonly #left: Int32Array;
  readonly #right: Int32Array;
  readonly #rank: Int32Array;
  readonly #mask: number;

  /** @param pairs number of pairs that will be put in */
  constructor(pairs: number) {
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(8, pairs * 2)));
    this.#mask = capacity - 1;
    this.#left = new Int32Array(capacity).fill(EMPTY);
    this.#right = new Int32Array(capacity);
    this.#rank = new Int32Array(capacity);
  }

  /** A pair that is put in twice has its last rank. */
  set(left: number, right: number, rank: number): void {
    const at = this.#find(left, right);
    this.#left[at] = left;
    this.#right[at] = right;
    this.#rank[at] = rank;
  }

  /** Rank of a pair, or −1. */
  get(left: number, right: number): number {
    const at = this.#find(left, right);
    return this.#left[at] === EMPTY ? -1 : (this.#rank[at] as number);
  }

  /** Slot of the pair, or the empty slot where it would be. */
  #find(left: number, right: number): number {
    // Multiplicative hashing; the high bits are the well-mixed ones.
    const mixed = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
    let at = (mixed ^ (mixed >>> 15)) & this.#mask;
    while (this.#left[at] !== EMPTY && (this.#left[at] !== left || this.#right[at] !== right))
      at = (at + 1) & this.#mask;
    return at;
  }
}
