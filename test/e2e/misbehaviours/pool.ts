/** Things of which each is used by one at a time. */
export class Pool<T> {
  private readonly free: T[];
  private readonly waiting: ((thing: T) => void)[] = [];

  constructor(readonly all: readonly T[]) {
    this.free = [...all];
  }

  /** Runs `body` with one of them, once one is free; first come, first served. */
  async with<R>(body: (thing: T) => Promise<R>): Promise<R> {
    const thing = this.free.pop() ?? (await new Promise<T>((resolve) => this.waiting.push(resolve)));
    try {
      return await body(thing);
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.free.push(thing);
      else next(thing);
    }
  }
}
