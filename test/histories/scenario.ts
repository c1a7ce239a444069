import type { WorkflowHandle } from '@temporalio/client';
import type { PipelineState, Progress } from '../../shared/contracts/progress.js';
import { until, type BookKeeping } from '../workflows/support.js';

/** One way a run can go: what happens to its activities and what the operator does. */
export interface Scenario {
  books: () => BookKeeping;
  act: (handle: WorkflowHandle, books: BookKeeping) => Promise<void>;
  /** Children whose histories are kept beside the pipeline's own. */
  children: string[];
}

export async function ended(handle: WorkflowHandle): Promise<void> {
  await handle.result().catch(() => undefined);
}

export async function inState(handle: WorkflowHandle, state: PipelineState): Promise<void> {
  await until(async () => (await handle.query<Progress>('progress')).state === state, `the run is ${state}`, 120_000);
}

/** Decides each time the run stands still, then waits for its end. */
export function decides(state: PipelineState, ...decisions: object[]): Scenario['act'] {
  return async (handle) => {
    for (const decision of decisions) {
      await inState(handle, state);
      await handle.executeUpdate('decide', { args: [decision] });
    }
    await ended(handle);
  };
}

/** Cancelled while an activity runs. */
export function cancelledDuring(key: string, make: () => BookKeeping): Scenario {
  let reached = false;
  return {
    books: () => {
      const books = make();
      books.onCall = async (call, signal) => {
        if (!call.startsWith(key)) return;
        reached = true;
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      };
      return books;
    },
    children: [],
    act: async (handle) => {
      await until(() => reached, `${key} runs`, 120_000);
      await handle.cancel();
      await ended(handle);
    },
  };
}
