import type { Offset } from '../kernels/kernels.js';
import { keyValueFloats } from '../kernels/sizes.js';
import { type Model, slotFloats } from '../model/model.js';

/** Room for the keys and values of one sequence. After its sequence ends they stay, for prompts that begin alike. */
export interface Slot {
  cache: Offset;
  /** Tokens of the sequence; the first `ready` have keys and values in the cache. */
  tokens: number[];
  ready: number;
  busy: boolean;
  lastUsed: number;
}

/** The key/value caches, and which prompt beginnings they hold. */
export class SlotTable {
  private readonly slots: Slot[];
  private clock = 0;

  constructor(
    private readonly model: Model,
    count: number,
    maxSequence: number
  ) {
    const floats = slotFloats(model.config, maxSequence);
    this.slots = Array.from({ length: count }, (_, i) => ({
      cache: model.caches + i * floats,
      tokens: [],
      ready: 0,
      busy: false,
      lastUsed: 0,
    }));
  }

  /**
   * Takes the free slot that was unused longest and copies into it the longest beginning of `tokens` found in any slot, at most
   * `shareable` positions. The copied numbers are those a computation would give: a row's bits do not depend on its batch.
   */
  acquire(tokens: number[], shareable: number): Slot {
    const { donor, length } = this.longestBeginning(tokens, shareable);
    const free = this.slots.filter((slot) => !slot.busy && slot !== donor);
    const slot = free.reduce<Slot | null>((best, s) => (best === null || s.lastUsed < best.lastUsed ? s : best), null);
    const taken = slot ?? donor;
    if (taken === null || taken.busy)
      throw new Error('no free key/value cache: more sequences run than were planned for');
    if (donor !== null && donor !== taken) this.copy(donor, taken, length);
    this.clock += 1;
    Object.assign(taken, { tokens, ready: length, busy: true, lastUsed: this.clock });
    return taken;
  }

  release(slot: Slot): void {
    slot.busy = false;
  }

  /** Forgets all keys and values that no running sequence uses, and lends none of the running ones. */
  flush(): void {
    for (const slot of this.slots) Object.assign(slot, { tokens: [], ready: 0 });
  }

  private longestBeginning(tokens: readonly number[], shareable: number): { donor: Slot | null; length: number } {
    let donor: Slot | null = null;
    let length = 0;
    for (const slot of this.slots) {
      const common = commonLength(tokens, slot.tokens, Math.min(shareable, slot.ready));
      if (common > length) [donor, length] = [slot, common];
    }
    return { donor, length };
  }

  private copy(from: Slot, to: Slot, count: number): void {
    const { kernels, attention, workspace, config } = this.model;
    const capacity = workspace.cacheCapacity;
    const stride = keyValueFloats(attention, capacity);
    for (let layer = 0; layer < config.layers; layer += 1)
      kernels.copyKeyValue(attention, from.cache + layer * stride, to.cache + layer * stride, count, capacity);
  }
}

/** Number of equal tokens at the beginning of both, at most `limit`. */
export function commonLength(a: readonly number[], b: readonly number[], limit: number): number {
  const end = Math.min(a.length, b.length, limit);
  let i = 0;
  while (i < end && a[i] === b[i]) i += 1;
  return i;
}
