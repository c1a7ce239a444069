import type { DatasetFacts, PreparedData, RunHandle } from '../shared/contracts/activities.js';
import type { ArtifactRef } from '../shared/contracts/artifact.js';
import { prepareData } from '../shared/data/prepare.js';
import type { ActivityPorts, Origin } from './ports.js';
import { openRun } from './run-files.js';
import type { ActivityScope } from './scope.js';
import { dataKeyParts, lookupFiles, recordFiles } from './stage-reuse.js';

const FACTS_FILE = 'data/prepared.json';
const MANIFEST_FILE = 'data/manifest.json';

/** Counts of one converted data set, as `data/prepared.json` holds them. */
interface PreparedFile {
  name: string;
  path: string;
  rows: number;
  skipped: number;
}

/**
 * Converts (or generates and converts) every data set of the recipe.
 *
 * @throws PipelineError DataInvalid, PinMismatch
 */
export async function prepareDataActivity(
  args: { run: RunHandle },
  scope: ActivityScope,
  ports: ActivityPorts
): Promise<PreparedData> {
  const run = await openRun(args.run);
  const parts = await dataKeyParts(run, ports.projectRoot);
  const reused = await lookupFiles(run, 'data', parts, [FACTS_FILE, MANIFEST_FILE]);
  if (!reused) {
    // The conversion hears the signal; there is no engine to stop.
    scope.watch({ run, name: 'data', stop: async () => undefined });
    scope.report({ phase: 'data' });
    const prepared = await prepareData(run.recipe, run.path('data'), {
      projectRoot: ports.projectRoot,
      signal: scope.signal,
      onProgress: (progress: object) => scope.report({ phase: 'data', ...progress }),
    });
    const files: PreparedFile[] = prepared.files.map(({ name, path, rows, skipped }) => ({
      name,
      path,
      rows,
      skipped,
    }));
    const origin: Origin = { stage: 'data', activity: 'prepareData', attempt: scope.attempt, inputs: [] };
    const refs: ArtifactRef[] = [];
    for (const source of prepared.sources) refs.push(await run.adopt(source, 'source', origin));
    for (const file of files) refs.push(await run.adopt(file.path, 'dataset', { ...origin, inputs: [...refs] }));
    await run.adopt(MANIFEST_FILE, 'data-manifest', { ...origin, inputs: refs });
    await run.publish(FACTS_FILE, `${JSON.stringify(files, null, 2)}\n`, 'data-manifest', { ...origin, inputs: refs });
    await recordFiles(run, 'data', parts, [FACTS_FILE, MANIFEST_FILE, ...refs.map((ref) => ref.path)]);
  }
  return await toResult(await openRun(args.run), reused);
}

async function toResult(run: Awaited<ReturnType<typeof openRun>>, reused: boolean): Promise<PreparedData> {
  const files = await run.readJson<PreparedFile[]>(FACTS_FILE);
  const facts = new Map<string, DatasetFacts>();
  for (const file of files)
    facts.set(file.name, { ref: await run.expect(file.path), rows: file.rows, skipped: file.skipped });
  const train = facts.get('train');
  if (train === undefined) throw new Error('the prepared data has no training set');
  facts.delete('train');
  return { train, evaluation: Object.fromEntries(facts), manifest: await run.expect(MANIFEST_FILE), reused };
}
