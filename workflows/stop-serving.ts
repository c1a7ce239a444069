import { CancellationScope, log } from '@temporalio/workflow';
import type { RunHandle } from '../shared/contracts/activities.js';
import type { Proxies } from './activity-proxies.js';

/** A real server ends within seconds; the driver may take longer to give its memory back, and the next model needs it. */
const LIMITS = {
  embedded: { startToCloseTimeout: '20s', scheduleToCloseTimeout: '30s' },
  started: { startToCloseTimeout: '90s', scheduleToCloseTimeout: '2 minutes' },
} as const;

/** Stops a model's serving engine, also when the workflow is cancelled. Never fails: the engine ends with its worker. */
export async function stopServing(
  evaluate: Proxies['evaluate'],
  run: RunHandle,
  model: string,
  server: keyof typeof LIMITS
): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    try {
      await evaluate.stopServing.executeWithOptions({ summary: `stop serving ${model}`, ...LIMITS[server] }, [
        { run, model },
      ]);
    } catch (error) {
      log.warn('the serving engine could not be stopped; it ends with its worker', { error: String(error) });
    }
  });
}
