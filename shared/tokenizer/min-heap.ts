/** Numbers, smallest first, in one growing typed array. */
export class MinHeap {
  #items: Float64Array;
  #size = 0;

  constructor(capacity: number) {
    this.#items = new Float64Array(Math.max(16, capacity));
  }

  push(value: number): void {
    if (this.#size === this.#items.length) this.#grow();
    const items = this.#items;
    let at = this.#size;
    this.#size += 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent] as number;
      if (above <= value) break;
      items[at] = above;
      at = parent;
    }
    items[at] = value;
  }

  /** The smallest number, which is removed; undefined when there is none. */
  pop(): number | undefined {
    if (this.#size === 0) return undefined;
    const items = this.#items;
    const smallest = items[0];
    this.#size -= 1;
    const last = items[this.#size] as number;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#size) break;
      if (child + 1 < this.#size && (items[child + 1] as number) < (items[child] as number)) child += 1;
      if ((items[child] as number) >= last) break;
      items[at] = items[child] as number;
      at = child;
    }
    items[at] = last;
    return smallest;
  }

  #grow(): void {
    const larger = new Float64Array(this.#items.length * 2);
    larger.set(this.#items);
    this.#items = larger;
  }
}
