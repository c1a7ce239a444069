import { describe, expect, it } from 'vitest';
import type { GuardedProcess } from '../../shared/runtime/guarded-process.js';
import { Supervisor } from '../../workers/supervisor.js';
import { until } from '../workflows/support.js';

/** A process that ends when it is told to. */
function controlled(): GuardedProcess & { end(code: number): void; stopped: boolean } {
  let end: (code: number) => void = () => undefined;
  const ended = new Promise<number>((resolve) => (end = resolve));
  const process = {
    group: undefined,
    ended,
    stopped: false,
    exitCode: () => undefined,
    unref: () => undefined,
    end,
    stop: async () => {
      process.stopped = true;
      end(143);
    },
  };
  return process;
}

function supervised(firstPauseMs = 1) {
  const processes: ReturnType<typeof controlled>[] = [];
  const pauses: number[] = [];
  const supervisor = new Supervisor({
    name: 'the worker',
    firstPauseMs,
    start: async () => {
      processes.push(controlled());
      return processes.at(-1)!;
    },
    fatalCodes: [2],
    fatalError: (code) => new Error(`useless to go on after ${code}`),
    onEnd: ({ restartInMs }) => void pauses.push(restartInMs),
  });
  return { supervisor, processes, pauses };
}

describe('a supervisor', () => {
  it('starts a process again whenever it ends, with growing pauses up to a limit', async () => {
    const { supervisor, processes, pauses } = supervised();
    await supervisor.begin();
    for (let i = 0; i < 8; i++) {
      await until(() => processes.length === i + 1, `start ${i + 1}`);
      processes[i]?.end(1);
    }
    await until(() => pauses.length === 8, 'eight ends');
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 32, 32]);
    await supervisor.stop(100);
  });

  it('gives up when the process was used wrongly', async () => {
    const { supervisor, processes } = supervised();
    await supervisor.begin();
    processes[0]?.end(2);
    await expect(supervisor.failed).rejects.toThrow('useless to go on after 2');
    expect(processes).toHaveLength(1);
  });

  it('stops the process and does not start it again', async () => {
    const { supervisor, processes, pauses } = supervised();
    await supervisor.begin();
    await supervisor.stop(100);
    expect(processes[0]?.stopped).toBe(true);
    expect(processes).toHaveLength(1);
    expect(pauses).toEqual([]);
  });

  it('stops during a pause too', async () => {
    const { supervisor, processes, pauses } = supervised(1_000_000);
    await supervisor.begin();
    processes[0]?.end(1);
    await until(() => pauses.length === 1, 'the pause');
    await supervisor.stop(100);
    expect(processes).toHaveLength(1);
  });
});
