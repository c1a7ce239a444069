import { isHere, readLease } from '../../engines/supervision/lease.js';
import { descendants } from '../../shared/runtime/process-group.js';
import { cpuSeconds, identify, type ProcessIdentity } from '../../shared/runtime/process-identity.js';

/** CPU time of the engine that holds a folder's lease, in pieces. An engine on another host is measured by its own workers. */
export class EngineCpu {
  private known: { process: ProcessIdentity; seconds: number } | undefined;

  constructor(readonly folder: string) {}

  /** @returns CPU seconds since the last call; of an engine that was started since, all of them */
  async take(): Promise<number> {
    const lease = await readLease(this.folder);
    const seconds = lease === undefined || !isHere(lease) ? undefined : await treeSeconds(lease.engine);
    if (lease === undefined || seconds === undefined) return 0;
    const same = this.known?.process.pid === lease.engine.pid && this.known.process.start === lease.engine.start;
    const before = same ? (this.known?.seconds ?? 0) : 0;
    this.known = { process: lease.engine, seconds };
    return Math.max(0, seconds - before);
  }
}

/** CPU time of a process and of those it started: a large server computes in processes of its own. */
async function treeSeconds(root: ProcessIdentity): Promise<number | undefined> {
  const own = cpuSeconds(root);
  if (own === undefined) return undefined;
  return (await descendants(root.pid)).reduce((sum, pid) => sum + (cpuSeconds(identify(pid)) ?? 0), own);
}
