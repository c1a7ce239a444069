import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AttemptFence, type Attempt } from '../../../shared/artifacts/attempt-fence.js';
import { entryPath } from '../../../shared/runtime/entry.js';

let folder: string;
const children: ChildProcess[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memagent-fence-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

function attempt(sequence: number, changes: Partial<Attempt> = {}): Attempt {
  return {
    workflowRun: 'run-1',
    sequence,
    scheduledAt: 1_000 * sequence,
    activity: 'trainStep',
    host: 'here',
    pid: process.pid,
    ...changes,
  };
}

/** A process that enters, says so, and checks whenever a line comes. */
async function attemptProcess(facts: Attempt): Promise<{ child: ChildProcess; says(): Promise<string> }> {
  const script = `
    const { AttemptFence } = await import(${JSON.stringify(entryPath('shared/artifacts/attempt-fence.js'))});
    const fence = await AttemptFence.enter(${JSON.stringify(folder)}, ${JSON.stringify(facts)});
    console.log('entered');
    process.stdin.on('data', () => fence.check().then(() => console.log('may write'), (error) => console.log(error.message)));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const lines = createInterface({ input: child.stdout });
  const says = async (): Promise<string> => ((await once(lines, 'line')) as [string])[0];
  expect(await says()).toBe('entered');
  return { child, says };
}

describe('the fence between attempts', () => {
  it('lets the newest attempt write and shuts out the one before', async () => {
    const first = await AttemptFence.enter(folder, attempt(1));
    await first.check();
    const second = await AttemptFence.enter(folder, attempt(2, { host: 'elsewhere', pid: 7 }));
    await expect(first.check()).rejects.toMatchObject({
      type: 'HostLost',
      message: 'a newer attempt (process 7 on elsewhere) has taken over trainStep; this one may not write any more',
    });
    await second.check();
    expect(await readdir(folder)).toEqual(['run-1.2.json']);
  });

  it('refuses an attempt that comes back after a newer one has begun', async () => {
    const newer = await AttemptFence.enter(folder, attempt(9));
    await expect(AttemptFence.enter(folder, attempt(8))).rejects.toMatchObject({ type: 'HostLost' });
    await newer.check();
  });

  it('orders attempts of one workflow run by their number, whatever the clocks say', async () => {
    const first = await AttemptFence.enter(folder, attempt(1, { scheduledAt: 9_000_000 }));
    await AttemptFence.enter(folder, attempt(2, { scheduledAt: 5 }));
    await expect(first.check()).rejects.toMatchObject({ type: 'HostLost' });
  });

  it('lets a later workflow run take over from an earlier one', async () => {
    const first = await AttemptFence.enter(folder, attempt(40));
    await AttemptFence.enter(folder, attempt(1, { workflowRun: 'run-2', scheduledAt: 1_000_000 }));
    await expect(first.check()).rejects.toMatchObject({ type: 'HostLost' });
  });

  it('shuts out a live process that was frozen while another one took over', async () => {
    const stale = await attemptProcess(attempt(1));
    stale.child.stdin?.write('\n');
    expect(await stale.says()).toBe('may write');
    stale.child.kill('SIGSTOP');
    const fresh = await attemptProcess(attempt(2));
    stale.child.kill('SIGCONT');
    stale.child.stdin?.write('\n');
    expect(await stale.says()).toMatch(/has taken over trainStep; this one may not write any more$/);
    fresh.child.stdin?.write('\n');
    expect(await fresh.says()).toBe('may write');
  });

  it('is free for the next attempt after the holder was killed', async () => {
    const dead = await attemptProcess(attempt(1));
    dead.child.kill('SIGKILL');
    await once(dead.child, 'exit');
    const next = await AttemptFence.enter(folder, attempt(2));
    await next.check();
  });
});
