/** Work that one turn of the event loop should have at most. Unit: milliseconds. */
const SLICE_MS = 10;
/** Pieces let in at once at most, however small. */
const MOST_AT_ONCE = 256;

/**
 * Keeps many replies that come at once from being worked on in one go: each costs a long prompt's tokenization, and timers,
 * signals and heartbeats would wait for all of them together. As many pieces go on in one turn of the event loop as fit a
 * slice, judged by what the latest ones took; the others wait for later turns, first come first served. Small pieces that come
 * together stay together, so that their requests can be sent as one batch.
 */
export class Turnstile {
  private startedAt = 0;
  /** Pieces let in during this turn of the event loop. */
  private admitted = 0;
  private quota = 1;
  private readonly waiting: (() => void)[] = [];

  /** @returns undefined when the caller may go on at once */
  pass(): Promise<void> | undefined {
    if (this.admitted >= this.quota) return new Promise((resolve) => this.waiting.push(resolve));
    this.admit();
    return undefined;
  }

  private admit(): void {
    if (this.admitted === 0) {
      this.startedAt = performance.now();
      setImmediate(this.next);
    }
    this.admitted += 1;
  }

  private readonly next = (): void => {
    const cost = (performance.now() - this.startedAt) / this.admitted;
    this.quota = Math.min(MOST_AT_ONCE, Math.max(1, Math.floor(SLICE_MS / cost)));
    this.admitted = 0;
    for (const enter of this.waiting.splice(0, this.quota)) {
      this.admit();
      enter();
    }
  };
}
