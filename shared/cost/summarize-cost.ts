import { readCostRecords, type CostRecord, type DiscardRecord, type Spent } from './cost-record.js';

/** File of a finished run with its {@link CostSummary}. */
export const COST_FILE = 'cost.json';

/** What a stage or a run took. Times are summed over attempts: work side by side counts each. */
export interface CostSums {
  /** Attempts of activities, also those that failed. */
  attempts: number;
  /** Attempts that failed, or that were lost with their worker. */
  failed: number;
  /** Unit: seconds. */
  attemptSeconds: number;
  workerCpuSeconds: number;
  engineCpuSeconds: number;
  gpuSeconds: number;
  /** CPU time of attempts that came to nothing, of steps that were trained again, and of stages that were put aside. */
  wastedCpuSeconds: number;
  wastedGpuSeconds: number;
}

/** What a run cost, by stage. */
export interface CostSummary {
  schema: 1;
  stages: ({ stage: string } & CostSums)[];
  total: CostSums;
  /** Wasted part of the GPU time, or of the CPU time where no GPU was held; 0 … 1. */
  wastedShare: number;
}

/** The cost of a run so far. @returns undefined when nothing was noted, or the run's folder is not on this machine */
export async function readCost(directory: string): Promise<CostSummary | undefined> {
  const records = await readCostRecords(directory);
  return records === undefined ? undefined : summarizeCost(records.attempts, records.discards);
}

/**
 * Adds the attempts up. An attempt without an end counts as lost when the same work was begun again later; until then it may
 * still be running. Part of a failed attempt may have been kept (finished samples of an evaluation), so that the wasted part
 * is an upper bound.
 */
export function summarizeCost(attempts: readonly CostRecord[], discards: readonly DiscardRecord[] = []): CostSummary {
  const latest = latestStarts(attempts);
  const stages = new Map<string, CostSums>();
  for (const attempt of [...attempts].sort((a, b) => (a.at < b.at ? -1 : 1))) {
    const lost = attempt.state === 'running' && (latest.get(keyOf(attempt)) ?? '') > attempt.at;
    const failed = attempt.state === 'failed' || lost;
    const discarded = discards.some(({ discarded, at }) => discarded === attempt.stage && attempt.at < at);
    const sums = stages.get(attempt.stage) ?? nothing();
    stages.set(attempt.stage, sums);
    addTo(sums, attempt, failed, failed || discarded ? attempt : attempt.redone);
  }
  const total = [...stages.values()].reduce(plus, nothing());
  return {
    schema: 1,
    stages: [...stages].map(([stage, sums]) => ({ stage, ...rounded(sums) })),
    total: rounded(total),
    wastedShare: round(share(total), 4),
  };
}

function keyOf({ stage, work }: CostRecord): string {
  return `${stage}\n${work}`;
}

function latestStarts(attempts: readonly CostRecord[]): Map<string, string> {
  const latest = new Map<string, string>();
  for (const attempt of attempts) {
    const key = keyOf(attempt);
    if (attempt.at > (latest.get(key) ?? '')) latest.set(key, attempt.at);
  }
  return latest;
}

function nothing(): CostSums {
  return {
    attempts: 0,
    failed: 0,
    attemptSeconds: 0,
    workerCpuSeconds: 0,
    engineCpuSeconds: 0,
    gpuSeconds: 0,
    wastedCpuSeconds: 0,
    wastedGpuSeconds: 0,
  };
}

function addTo(sums: CostSums, attempt: CostRecord, failed: boolean, wasted: Spent): void {
  sums.attempts += 1;
  sums.failed += failed ? 1 : 0;
  sums.attemptSeconds += attempt.seconds;
  sums.workerCpuSeconds += attempt.workerCpu;
  sums.engineCpuSeconds += attempt.engineCpu;
  sums.gpuSeconds += attempt.gpus * attempt.seconds;
  sums.wastedCpuSeconds += wasted.workerCpu + wasted.engineCpu;
  sums.wastedGpuSeconds += attempt.gpus * wasted.seconds;
}

function plus(a: CostSums, b: CostSums): CostSums {
  const keys = Object.keys(a) as (keyof CostSums)[];
  return Object.fromEntries(keys.map((key) => [key, a[key] + b[key]])) as unknown as CostSums;
}

function share({ gpuSeconds, wastedGpuSeconds, wastedCpuSeconds, ...sums }: CostSums): number {
  if (gpuSeconds > 0) return wastedGpuSeconds / gpuSeconds;
  const cpu = sums.workerCpuSeconds + sums.engineCpuSeconds;
  return cpu > 0 ? wastedCpuSeconds / cpu : 0;
}

function rounded(sums: CostSums): CostSums {
  return Object.fromEntries(Object.entries(sums).map(([key, value]) => [key, round(value, 2)])) as unknown as CostSums;
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
