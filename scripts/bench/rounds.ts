/** Time of one run of a task. Unit: seconds. */
export interface Spent {
  /** Processor time of the whole process, all its threads: other programs on the machine disturb it least. */
  cpu: number;
  wall: number;
}

/** Runs `body` and measures this process. */
export function spend(body: () => void): Spent {
  const cpu = process.cpuUsage();
  const started = performance.now();
  body();
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: (user + system) / 1e6, wall: (performance.now() - started) / 1000 };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return NaN;
  return Number.isInteger(middle) ? (sorted[middle - 1]! + sorted[middle]!) / 2 : sorted[Math.floor(middle)]!;
}

/** Medians of many runs, and the fastest. */
export function summary(runs: readonly Spent[]): { cpu: number; wall: number; best: number } {
  return {
    cpu: median(runs.map(({ cpu }) => cpu)),
    wall: median(runs.map(({ wall }) => wall)),
    best: Math.min(...runs.map(({ wall }) => wall)),
  };
}
