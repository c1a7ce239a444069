import { Worker } from '@temporalio/worker';
import { loadHistory, type RecordedRun } from './record.js';

/** Workflow code to replay with: a bundle file, or its text. */
export type Bundle = { codePath: string } | { code: string };

/**
 * Replays histories on one worker.
 *
 * @param given names of recorded ones, or runs
 * @returns why each one that did not replay did not, by name or workflow id
 */
export async function replayAll(
  workflowBundle: Bundle,
  given: readonly (string | RecordedRun)[]
): Promise<Record<string, Error>> {
  const names = given.map((each) => (typeof each === 'string' ? each : each.workflowId));
  async function* histories(): AsyncGenerator<{ workflowId: string; history: unknown }> {
    for (const each of given) yield typeof each === 'string' ? await loadHistory(each) : each;
  }
  const failures: Record<string, Error> = {};
  let index = 0;
  for await (const { error } of Worker.runReplayHistories({ workflowBundle }, histories())) {
    const name = names[index] as string;
    if (error !== undefined) failures[name] = error;
    index += 1;
  }
  if (index !== names.length) throw new Error(`${index} of ${names.length} histories were replayed`);
  return failures;
}
