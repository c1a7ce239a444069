import { CancellationScope, log } from '@temporalio/workflow';
import type { ArmHandle } from '../shared/contracts/activities.js';
import type { Proxies } from './activity-proxies.js';

/** A framework's own way down takes a minute. */
const JOB_LIMITS = { startToCloseTimeout: '5 minutes', scheduleToCloseTimeout: '10 minutes' } as const;
const ENGINE_LIMITS = { startToCloseTimeout: '20s', scheduleToCloseTimeout: '30s' } as const;

/**
 * The engine goes down with the run, also when the run was cancelled or failed; a worker that is gone took it along. A job is not
 * stopped for a failure: it may run well, out of sight.
 */
export async function stopEngine(
  train: Proxies['train'],
  handle: ArmHandle,
  { isJob, failed }: { isJob: boolean; failed: boolean }
): Promise<void> {
  const careful = isJob && failed ? ({ onlyIfOver: true } as const) : {};
  await CancellationScope.nonCancellable(async () => {
    try {
      await train.stopEngine.executeWithOptions(
        { summary: `${handle.arm}: stop the engine`, ...(isJob ? JOB_LIMITS : ENGINE_LIMITS) },
        [{ ...handle, ...careful }]
      );
    } catch (error) {
      log.warn('the engine could not be stopped; it ends with its worker', { error: String(error) });
    }
  });
}
