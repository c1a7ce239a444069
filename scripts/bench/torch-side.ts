import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { packageRoot } from '../../shared/runtime/entry.js';
import type { Spent } from './rounds.js';
import type { TaskName } from './workload.js';

/** The PyTorch process: takes a task's name, answers with the time that it took. */
export interface TorchSide {
  versions: Record<string, string>;
  run(task: TaskName): Promise<Spent & { answer: number }>;
  end(): Promise<void>;
}

/**
 * @param python interpreter with torch and numpy
 * @param yardstick folder of the PyTorch scripts
 * @param workload file with the workload
 * @throws Error when Python ends, with what it wrote
 */
export async function startTorch(python: string, yardstick: string, workload: string): Promise<TorchSide> {
  const script = join(packageRoot(), 'scripts/python/bench_torch.py');
  const threads = { OMP_NUM_THREADS: '1', MKL_NUM_THREADS: '1' };
  const child = spawn(python, [script, yardstick, workload], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...threads, PYTHONDONTWRITEBYTECODE: '1' },
  });
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => (complaint = (complaint + text.toString()).slice(-2000)));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<Record<string, unknown>> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the PyTorch side ended: ${complaint.trim()}`);
    return JSON.parse(value) as Record<string, unknown>;
  };
  const { versions } = (await answer()) as { versions: Record<string, string> };
  return {
    versions,
    run: async (task) => {
      child.stdin.write(`${task}\n`);
      return (await answer()) as unknown as Spent & { answer: number };
    },
    end: async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}
