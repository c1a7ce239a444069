import type { WorkflowHandle } from '@temporalio/client';
import type { TemporalClient } from '../../workers/temporal-target.js';

/** Size of all runs of a workflow that continued as new. */
export interface HistorySize {
  /** Runs, the last one included. */
  runs: number;
  events: number;
  bytes: number;
  /** Events of the longest run. */
  longest: number;
}

/** Sums up what the server keeps of a workflow, from its last run back to its first. */
export async function historySize({ client }: TemporalClient, workflowId: string): Promise<HistorySize> {
  const size: HistorySize = { runs: 0, events: 0, bytes: 0, longest: 0 };
  for (let runId: string | undefined = undefined; ;) {
    const handle: WorkflowHandle = client.workflow.getHandle(workflowId, runId);
    const facts = await handle.describe();
    size.runs += 1;
    size.events += facts.historyLength;
    size.bytes += Number(facts.historySize ?? 0);
    size.longest = Math.max(size.longest, facts.historyLength);
    const first = (await handle.fetchHistory()).events?.[0]?.workflowExecutionStartedEventAttributes;
    if (!first?.continuedExecutionRunId) return size;
    runId = first.continuedExecutionRunId;
  }
}
