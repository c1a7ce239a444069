import type { TemporalClient } from '../workers/temporal-target.js';
import { follow } from './progress/follow.js';
import { createView } from './progress/view.js';
import type { Snapshot } from './pipeline-client.js';
import type { Terminal } from './terminal.js';

/** Shows a run until it ends or the person interrupts. @returns the last snapshot */
export async function watchRun(
  terminal: Terminal,
  connected: TemporalClient,
  id: string,
  options: { json: boolean; signal: AbortSignal }
): Promise<Snapshot | undefined> {
  const view = await createView(terminal, options.json);
  try {
    return await follow(connected, id, {
      signal: options.signal,
      onSnapshot: (snapshot) => view.show(snapshot),
      onOutage: (error) => view.outage(error),
    });
  } finally {
    view.end();
  }
}
