import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/activity';
import type { WorkflowHandle } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { packageRoot } from '../../shared/runtime/entry.js';

export const HISTORIES = join(packageRoot(), 'test', 'histories');

/** Writes the histories of a pipeline and of its children as `<scenario>.<workflow>.json`. */
export async function record(environment: TestWorkflowEnvironment, scenario: string, pipeline: WorkflowHandle): Promise<void> {
  await mkdir(HISTORIES, { recursive: true });
  const suffixes = ['', '/smoke-relax', '/train-relax', '/evaluate'];
  for (const suffix of suffixes) {
    const handle = environment.client.workflow.getHandle(`${pipeline.workflowId}${suffix}`);
    const history = await handle.fetchHistory().catch(() => undefined);
    if (history === undefined) continue;
    const name = `${scenario}.${suffix === '' ? 'pipeline' : suffix.slice(1)}.json`;
    const file = { workflowId: handle.workflowId, history: JSON.parse(historyToJSON(history)) as unknown };
    await writeFile(join(HISTORIES, name), `${withoutMachine(JSON.stringify(file, null, 1))}\n`);
  }
}

/** A failure of the table, as an activity would end with it. */
export function fault(type: string, nonRetryable: boolean): ApplicationFailure {
  return ApplicationFailure.create({ type, message: `${type} on purpose`, nonRetryable });
}

/** Stack traces and identities say where a history was recorded: of no use to replay, and different on every machine. */
function withoutMachine(text: string): string {
  return text.replaceAll(`${packageRoot()}/`, '').replaceAll(/"identity": "[^"]*"/g, '"identity": "worker"');
}
