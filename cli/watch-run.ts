import type { TemporalClient } from '../workers/temporal-target.js';
import { follow } from './progress/follow.js';
import { createView } from './progress/view.js';
import type { Snapshot } from './pipeline-client.js';
import type { Terminal } from './terminal.js';

export interface WatchOptions {
  json: boolean;
  signal: AbortSignal;
  /** The workers were started just now: an unanswered query is no news before this time. Unit: milliseconds. */
  graceMs?: number;
}

/** Shows a run until it ends or the person interrupts. @returns the last snapshot */
export async function watchRun(
  terminal: Terminal,
  connected: TemporalClient,
  id: string,
  options: WatchOptions
): Promise<Snapshot | undefined> {
  const quietUntil = Date.now() + (options.graceMs ?? 0);
  const view = await createView(terminal, options.json);
  try {
    return await follow(connected, id, {
      signal: options.signal,
      onSnapshot: (snapshot) => {
        const waiting = snapshot.progress === undefined && Date.now() < quietUntil;
        if (!waiting || snapshot.status !== 'RUNNING') view.show(snapshot);
      },
      onOutage: (error) => view.outage(error),
    });
  } finally {
    view.end();
  }
}
