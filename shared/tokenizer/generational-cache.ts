/**
 * A map of bounded size for values that can always be computed again.
 *
 * Two generations instead of a list of uses: when the young one is full it becomes the old one, and the old one is
 * forgotten. What is asked for again moves to the young one, so frequent keys stay; a lookup costs one or two map reads.
 */
export class GenerationalCache<Value> {
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  /** @param generationSize keys of one generation; at most twice as many are held */
  constructor(private readonly generationSize: number) {}

  get(key: string): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: Value): void {
    if (this.#young.size >= this.generationSize) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}
