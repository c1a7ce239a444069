import { join } from 'node:path';
import { artifactHashes } from '../chaos/artifact-hashes.js';
import type { Stage, Victim } from '../chaos/processes.js';
import { runUnderFire } from '../chaos/run.js';
import { tiniestRecipe } from './tiny-recipe.js';

export interface ManyPipelines {
  pipelines: number;
  /** Seconds for all of them one after the other, and for all at once. */
  alone: number;
  together: number;
  /** `<pipeline>: <artifact>` for every artifact whose bytes differ between the two. */
  differing: string[];
  compared: number;
}

/**
 * Runs pipelines of different seeds one after the other, then all at once on the same workers while `extra` joins and leaves, and
 * compares their bytes. Each run has a root of its own, so that nothing is taken over.
 */
export async function manyPipelines(
  stage: Stage,
  folder: string,
  options: { pipelines: number; steps: number; extra?: Victim }
): Promise<ManyPipelines> {
  const seeds = Array.from({ length: options.pipelines }, (_, index) => index + 1);
  const run = async (how: 'alone' | 'together', seed: number): Promise<void> => {
    const id = `${how}-${seed}`;
    const root = join(folder, id);
    const recipe = tiniestRecipe(root, options.steps, seed, 'local');
    await runUnderFire({ stage, recipe, id, runDirectory: join(root, id), say: () => undefined });
  };
  const alone = await timed(async () => {
    for (const seed of seeds) await run('alone', seed);
  });
  const together = await timed(async () => {
    const all = Promise.all(seeds.map((seed) => run('together', seed)));
    await Promise.all([all, comeAndGo(options.extra)]);
  });
  const pairs = seeds.map((seed) => differences(folder, seed));
  return {
    pipelines: seeds.length,
    alone,
    together,
    differing: pairs.flatMap((pair) => pair.differing),
    compared: pairs.reduce((sum, pair) => sum + pair.compared, 0),
  };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}

/** A worker that joins, serves, and is taken away again. */
async function comeAndGo(extra: Victim | undefined): Promise<void> {
  if (extra === undefined) return;
  extra.start();
  await extra.untilItSays('worker started');
  await extra.stop();
}

function differences(folder: string, seed: number): { differing: string[]; compared: number } {
  const [alone, together] = (['alone', 'together'] as const).map((how) =>
    artifactHashes(join(folder, `${how}-${seed}`, `${how}-${seed}`))
  ) as [Record<string, string>, Record<string, string>];
  const names = [...new Set([...Object.keys(alone), ...Object.keys(together)])].sort();
  const differing = names.filter((name) => alone[name] !== together[name]).map((name) => `${seed}: ${name}`);
  return { differing, compared: names.length };
}
