import type { Offset } from '../kernels/kernels.js';

/** Hands out ranges of a heap that is made later, when its size is known. Offsets are multiples of 16 floats (one cache line). */
export class Arena {
  private next: number;

  constructor(start: number) {
    this.next = start;
  }

  take(floats: number): Offset {
    const offset = this.next;
    this.next += Math.ceil(floats / 16) * 16;
    return offset;
  }

  /** Floats needed so far; kernels may read up to 16 floats beyond a range. */
  get size(): number {
    return this.next + 16;
  }
}
