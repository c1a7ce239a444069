import { readFile } from 'node:fs/promises';

/** How many processes the kernel has killed for want of memory since it started; undefined where it does not say. */
export async function oomKills(): Promise<number | undefined> {
  const text = await readFile('/proc/vmstat', 'utf8').catch(() => '');
  const count = /^oom_kill (\d+)$/m.exec(text)?.[1];
  return count === undefined ? undefined : Number(count);
}
