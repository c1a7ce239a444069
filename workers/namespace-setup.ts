import { msToTs } from '@temporalio/common/lib/time.js';
import { connectClient, type TemporalTarget } from './temporal-target.js';

/** How long finished runs stay visible. A development server forgets them after one day by default. */
export const RETENTION_DAYS = 30;

/** Sets the retention of a namespace of a server that we started. */
export async function setUpNamespace(target: TemporalTarget): Promise<void> {
  const { client, close } = await connectClient(target);
  try {
    await client.workflowService.updateNamespace({
      namespace: target.namespace,
      config: { workflowExecutionRetentionTtl: msToTs(RETENTION_DAYS * 86_400_000) },
    });
  } finally {
    await close();
  }
}
