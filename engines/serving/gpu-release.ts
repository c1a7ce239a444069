import { setTimeout as delay } from 'node:timers/promises';
import { runProgram } from '../../shared/temporal-binary/run-program.js';

const QUERY = ['--query-compute-apps=pid', '--format=csv,noheader'];
const QUERY_MS = 10_000;
const POLL_MS = 500;

/** Processes that hold memory of a GPU; undefined where there is no `nvidia-smi`. */
export async function gpuProcesses(): Promise<Set<number> | undefined> {
  const { code, output } = await runProgram('nvidia-smi', QUERY, { timeoutMs: QUERY_MS });
  if (code !== 0) return undefined;
  return new Set(output.split('\n').map(Number).filter(Number.isSafeInteger));
}

/**
 * Waits until none of some processes holds GPU memory.
 *
 * @param limitMs longest wait, milliseconds
 * @returns those that still do when the time is over; empty where there is no `nvidia-smi`
 */
export async function untilReleased(pids: readonly number[], limitMs: number): Promise<number[]> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const holders = await gpuProcesses();
    const left = pids.filter((pid) => holders?.has(pid) === true);
    if (left.length === 0 || performance.now() > deadline) return left;
    await delay(POLL_MS);
  }
}
