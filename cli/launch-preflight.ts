import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { preflightFailure } from '../activities/preflight.js';
import { openClient } from '../activities/ray-client.js';
import { modelFiles } from '../activities/resolve.js';
import type { PreflightFacts } from '../engines/ray/preflight/preflight-job.js';
import { runPreflight } from '../engines/ray/preflight/run-preflight.js';
import type { LaunchFacts } from '../engines/ray/types.js';
import { hashFile } from '../shared/artifacts/atomic-file.js';
import type { Recipe } from '../shared/contracts/recipe.js';
import { EXIT, UserError } from '../shared/contracts/user-error.js';
import { forPerson } from './for-person.js';
import type { Terminal } from './terminal.js';

/** Looks at the recipe's cluster for one arm; what is compared with is the model and the data that this machine sees. */
export async function launchPreflight(
  terminal: Terminal,
  recipe: Recipe,
  arm: string,
  places: LaunchFacts,
  asJson: boolean
): Promise<number> {
  const facts = await preflightFacts(places);
  const client = await openClient(recipe);
  try {
    const found = await runPreflight(client, recipe, arm, facts, terminal.handleInterrupts());
    const problems = [...found.problems, ...found.busy];
    if (asJson) terminal.out(JSON.stringify({ ok: problems.length === 0, problems }));
    else if (problems.length > 0) throw forPerson(preflightFailure(arm, client.address, problems), {});
    else terminal.out(`the cluster at ${client.address} is as arm ${arm} of the recipe needs it`);
    return problems.length === 0 ? EXIT.ok : EXIT.failed;
  } finally {
    await client.close();
  }
}

async function preflightFacts({ modelDir, trainData, saveDir, dumpDir }: LaunchFacts): Promise<PreflightFacts> {
  const data = await hashFile(trainData).catch((error: NodeJS.ErrnoException) => {
    throw new UserError(`the training data ${trainData} cannot be read (${error.code ?? String(error)})`, {
      cure: 'Name it with --data; `memagent data` converts a dataset without a run.',
      cause: error,
    });
  });
  const files = await modelFiles(modelDir).catch((error: unknown) => {
    throw forPerson(error, { PinMismatch: 'Name the folder of the base model with --model.' });
  });
  const text = randomUUID();
  return {
    modelDir,
    modelFiles: files,
    trainData: { name: trainData, ...data },
    saveDir,
    marker: { path: join(dumpDir, `seen-from-here-${text}`), text },
  };
}
