/**
 * CPU time of this process, divided among the users that are there: what is spent while several are is shared evenly, so that
 * nothing is counted twice. What is spent while nobody is there is nobody's.
 */
export class SharedCpu {
  private readonly shares = new Map<object, number>();
  private last: number;

  /** @param read CPU time spent so far, seconds */
  constructor(private readonly read: () => number = processCpu) {
    this.last = read();
  }

  enter(user: object): void {
    this.settle();
    this.shares.set(user, 0);
  }

  /** @returns CPU seconds of a user since the last call, or since it entered */
  take(user: object): number {
    this.settle();
    const share = this.shares.get(user) ?? 0;
    if (this.shares.has(user)) this.shares.set(user, 0);
    return share;
  }

  leave(user: object): void {
    this.settle();
    this.shares.delete(user);
  }

  private settle(): void {
    const now = this.read();
    const each = (now - this.last) / Math.max(1, this.shares.size);
    this.last = now;
    for (const [user, share] of this.shares) this.shares.set(user, share + each);
  }
}

function processCpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
