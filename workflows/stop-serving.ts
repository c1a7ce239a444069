import { CancellationScope, log } from '@temporalio/workflow';
import type { RunHandle } from '../shared/contracts/activities.js';
import type { Proxies } from './activity-proxies.js';

/** Stops a model's serving engine, also when the workflow is cancelled. Never fails: the engine ends with its worker. */
export async function stopServing(evaluate: Proxies['evaluate'], run: RunHandle, model: string): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    try {
      await evaluate.stopServing.executeWithOptions(
        { summary: `stop serving ${model}`, startToCloseTimeout: '20s', scheduleToCloseTimeout: '30s' },
        [{ run, model }]
      );
    } catch (error) {
      log.warn('the serving engine could not be stopped; it ends with its worker', { error: String(error) });
    }
  });
}
