import { onAbort } from './on-abort.js';

/** Lets at most `limit` holders in at once, first come first served, at constant cost whatever waits. */
export class Gate {
  private free: number;
  private readonly waiting = new Set<() => void>();

  constructor(limit: number) {
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw new RangeError(`concurrency must be an integer ≥ 1, got ${limit}`);
    this.free = limit;
  }

  /**
   * Runs `work` as soon as a place is free.
   *
   * @throws the signal's reason when it is aborted before a place was free
   */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.free > 0) this.free -= 1;
    else await this.wait(signal);
    try {
      return await work();
    } finally {
      this.release();
    }
  }

  private wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const forget = onAbort(signal, () => {
        this.waiting.delete(enter);
        reject(signal?.reason as Error);
      });
      const enter = (): void => {
        forget();
        resolve();
      };
      this.waiting.add(enter);
    });
  }

  /** Hands the place to the longest waiting holder, or back. */
  private release(): void {
    for (const enter of this.waiting) {
      this.waiting.delete(enter);
      enter();
      return;
    }
    this.free += 1;
  }
}
