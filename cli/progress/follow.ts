import { setTimeout as pause } from 'node:timers/promises';
import type { TemporalClient } from '../../workers/temporal-target.js';
import { takeSnapshot, type Snapshot } from '../pipeline-client.js';

export interface FollowOptions {
  signal: AbortSignal;
  /** Unit: milliseconds. */
  intervalMs?: number;
  onSnapshot: (snapshot: Snapshot) => void;
  /** The server did not answer; asked again until it does. */
  onOutage: (error: Error) => void;
}

/**
 * Asks for snapshots until the workflow has ended or the signal is aborted.
 *
 * A server that is away for a while (a restart) is waited for: the run does not depend on who watches it.
 *
 * @returns the last snapshot; undefined when interrupted before the first one
 */
export async function follow(
  connected: TemporalClient,
  id: string,
  options: FollowOptions
): Promise<Snapshot | undefined> {
  let last: Snapshot | undefined;
  while (!options.signal.aborted) {
    try {
      last = await takeSnapshot(connected, id);
      if (options.signal.aborted) return last;
      options.onSnapshot(last);
      if (last.status !== 'RUNNING') return last;
    } catch (error) {
      if (!isOutage(error as Error)) throw error;
      options.onOutage(error as Error);
    }
    await pause(options.intervalMs ?? 1_000, undefined, { signal: options.signal }).catch(() => undefined);
  }
  return last;
}

/** gRPC 14 (unavailable), 4 (deadline), 1 (cancelled by a closing connection). */
function isOutage(error: Error): boolean {
  const code = (error as { code?: unknown }).code ?? (error.cause as { code?: unknown } | undefined)?.code;
  return code === 14 || code === 4 || code === 1;
}
