/** Work of one turn of the event loop after which the next waits for another turn. Unit: milliseconds. */
const SLICE_MS = 10;

/**
 * Keeps many replies that come at once from being worked on in one go: each costs a long prompt's tokenization, and timers,
 * signals and heartbeats would wait for all of them together. Whoever passes goes on at once while this turn of the event loop
 * has done little, else in a later turn, first come first served.
 */
export class Turnstile {
  private sliceStart: number | undefined;
  private readonly waiting: (() => void)[] = [];

  pass(): Promise<void> | undefined {
    const now = performance.now();
    if (this.sliceStart === undefined) {
      this.begin(now);
      return undefined;
    }
    if (this.waiting.length === 0 && now - this.sliceStart < SLICE_MS) return undefined;
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private begin(now: number): void {
    this.sliceStart = now;
    setImmediate(this.next);
  }

  private readonly next = (): void => {
    this.sliceStart = undefined;
    const enter = this.waiting.shift();
    if (enter === undefined) return;
    this.begin(performance.now());
    enter();
  };
}
