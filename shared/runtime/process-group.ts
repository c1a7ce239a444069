import { readdir, readFile } from 'node:fs/promises';

/** What `/proc` tells about one process. */
export interface ProcessFacts {
  pid: number;
  parent: number;
  command: string;
  /** R running, S sleeping, D waiting for a disk, T stopped, Z ended; see proc(5). */
  state: string;
  residentBytes: number;
  /** Processor time so far. Unit: seconds. */
  cpuSeconds: number;
  threads: ThreadFacts[];
  /** Kernel stack, where it may be read. */
  stack?: string[];
}

export interface ThreadFacts {
  id: number;
  name: string;
  state: string;
  /** Kernel function it sleeps in; absent while it runs. */
  waitsIn?: string;
}

/** Fields of `/proc/<pid>/stat` behind the command, counted from 0 (proc(5), fields 3 and on). */
const FIELD = { state: 0, parent: 1, group: 2, userTicks: 11, systemTicks: 12, residentPages: 21 } as const;
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

/** Enough for any engine; more would only make the record long. */
const MOST_PROCESSES = 40;
const MOST_THREADS = 40;

/**
 * The processes of a group, with their threads and where those wait. Empty where there is no `/proc` or no such group;
 * processes that end meanwhile are left out.
 */
export async function describeGroup(group: number): Promise<ProcessFacts[]> {
  const pids = (await list('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found: ProcessFacts[] = [];
  for (const pid of pids) {
    const fields = await statOf(`/proc/${pid}`);
    if (Number(fields?.[FIELD.group]) !== group || fields === undefined) continue;
    found.push(await describe(pid, fields));
    if (found.length === MOST_PROCESSES) break;
  }
  return found;
}

/** Processes that a process started, and those that these started, as far as they still run; `[]` where `/proc` does not say. */
export async function descendants(pid: number): Promise<number[]> {
  const found: number[] = [];
  for (const thread of await list(`/proc/${pid}/task`)) {
    const children = (await text(`/proc/${pid}/task/${thread}/children`)).split(' ').filter((id) => id !== '');
    for (const child of children.map(Number)) found.push(child, ...(await descendants(child)));
  }
  return found;
}

/** Ids of the processes of a group that have not ended; `[]` where there is no `/proc`. */
export async function groupMembers(group: number): Promise<number[]> {
  const pids = (await list('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (name) => {
      const fields = await statOf(`/proc/${name}`);
      return Number(fields?.[FIELD.group]) === group && fields?.[FIELD.state] !== 'Z' ? [Number(name)] : [];
    })
  );
  return found.flat();
}

async function describe(pid: number, fields: readonly string[]): Promise<ProcessFacts> {
  const command = (await text(`/proc/${pid}/cmdline`)).replaceAll('\0', ' ').trim().slice(0, 500);
  const stack = (await text(`/proc/${pid}/stack`)).split('\n').filter((line) => line !== '');
  const number = (index: number): number => Number(fields[index] ?? 0);
  return {
    pid,
    parent: number(FIELD.parent),
    command,
    state: fields[FIELD.state] ?? '?',
    residentBytes: number(FIELD.residentPages) * PAGE_BYTES,
    cpuSeconds: (number(FIELD.userTicks) + number(FIELD.systemTicks)) / TICKS_PER_SECOND,
    threads: await threadsOf(pid),
    ...(stack.length === 0 ? {} : { stack: stack.slice(0, 30) }),
  };
}

async function threadsOf(pid: number): Promise<ThreadFacts[]> {
  const threads: ThreadFacts[] = [];
  for (const id of (await list(`/proc/${pid}/task`)).slice(0, MOST_THREADS)) {
    const place = `/proc/${pid}/task/${id}`;
    const fields = await statOf(place);
    if (fields === undefined) continue;
    const waitsIn = (await text(`${place}/wchan`)).trim();
    threads.push({
      id: Number(id),
      name: (await text(`${place}/comm`)).trim(),
      state: fields[FIELD.state] ?? '?',
      ...(waitsIn === '' || waitsIn === '0' ? {} : { waitsIn }),
    });
  }
  return threads;
}

async function statOf(place: string): Promise<string[] | undefined> {
  const stat = await text(`${place}/stat`);
  // The command may hold spaces and parentheses: fields start after the last one.
  return stat === '' ? undefined : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

async function list(folder: string): Promise<string[]> {
  return await readdir(folder).catch(() => []);
}

async function text(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch(() => '');
}
