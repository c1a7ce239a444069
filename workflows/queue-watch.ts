import { CancellationScope, isCancellation, log, sleep } from '@temporalio/workflow';
import { server } from './activity-proxies.js';

const FIRST_LOOK_SECONDS = 15;
const LONGEST_PAUSE_SECONDS = 300;

/**
 * While `work` runs: says which of its task queues no worker polls. Looks first after 15 s (short stages cost nothing), and
 * stops looking once every queue has a worker, so that a long stage does not fill the history.
 */
export async function watchQueues<T>(
  queues: readonly string[],
  note: (text: string | undefined) => void,
  work: () => Promise<T>
): Promise<T> {
  const watching = new CancellationScope({ cancellable: true });
  const watch = watching
    .run(() => lookUntilServed(queues, note))
    .catch((error: unknown) => {
      if (!isCancellation(error)) log.warn('could not look at the task queues', { error: String(error) });
    });
  try {
    return await work();
  } finally {
    watching.cancel();
    await watch;
    note(undefined);
  }
}

async function lookUntilServed(queues: readonly string[], note: (text: string | undefined) => void): Promise<void> {
  for (let pause = FIRST_LOOK_SECONDS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_SECONDS)) {
    await sleep(`${pause}s`, { summary: 'look at the task queues' });
    const facts = await server.inspectQueues({ queues: [...queues] });
    const unserved = facts.filter((fact) => fact.pollers === 0).map((fact) => fact.queue);
    if (unserved.length === 0) {
      note(undefined);
      return;
    }
    note(unserved.map(unservedSentence).join('; '));
  }
}

function unservedSentence(queue: string): string {
  const [role, tag] = queue.split('@');
  return `no worker polls ${queue}: start one with \`memagent worker --role ${role} --tag ${tag}\``;
}
