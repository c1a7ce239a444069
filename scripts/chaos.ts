/**
 * `make chaos SEED=n`: runs a short laptop pipeline twice, calmly and while engine, worker and Temporal server are killed at seeded
 * moments, and compares every artifact's bytes. Exit 1 when any differs or a process is left.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../shared/runtime/entry.js';
import { nextFreePort } from '../workers/ports.js';
import { liveEngines } from './chaos/faults.js';
import { setTheStage } from './chaos/processes.js';
import { artifactHashes } from './chaos/artifact-hashes.js';
import { runUnderFire } from './chaos/run.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    faults: { type: 'string', default: '10' },
    steps: { type: 'string', default: '20' },
    keep: { type: 'boolean', default: false },
  },
});
const say = (text: string): void => console.log(text);

function chaosRecipe(root: string): Record<string, unknown> {
  const laptop = JSON.parse(readFileSync(join(packageRoot(), 'recipes', 'laptop.json'), 'utf8')) as {
    grpo: object;
    evaluation: object;
  };
  return {
    ...laptop,
    $schema: undefined,
    name: 'chaos',
    grpo: { ...laptop.grpo, steps: Number(values.steps), checkpointEvery: 5 },
    evaluation: { ...laptop.evaluation, items: 64 },
    limits: { heartbeatSeconds: 3 },
    artifacts: root,
  };
}

async function main(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'memagent-chaos-'));
  const stage = await setTheStage(join(folder, 'stage'), await nextFreePort(17_233), 'local');
  const seed = Number(values.seed);
  try {
    const runs = { calm: join(folder, 'calm'), chaos: join(folder, 'chaos') };
    const base = { stage, seed, say };
    const calm = await runUnderFire({
      ...base,
      id: 'calm',
      recipe: chaosRecipe(runs.calm),
      runDirectory: join(runs.calm, 'calm'),
      faults: 0,
    });
    say(`calm run: ${calm.seconds.toFixed(1)} s, verdict ${calm.progress.verdict?.outcome}`);
    const chaos = await runUnderFire({
      ...base,
      id: 'chaos',
      recipe: chaosRecipe(runs.chaos),
      runDirectory: join(runs.chaos, 'chaos'),
      faults: Number(values.faults),
    });
    say(
      `chaos run (seed ${seed}): ${chaos.seconds.toFixed(1)} s, faults ${JSON.stringify(chaos.done)}, failed attempts ${chaos.progress.failedAttempts}`
    );
    const expected = artifactHashes(join(runs.calm, 'calm'));
    const found = artifactHashes(join(runs.chaos, 'chaos'));
    const names = [...new Set([...Object.keys(expected), ...Object.keys(found)])].sort();
    const differing = names.filter((name) => expected[name] !== found[name]);
    for (const name of differing) say(`differs: ${name}`);
    const left = [...liveEngines(join(runs.calm, 'calm')), ...liveEngines(join(runs.chaos, 'chaos'))];
    say(
      `${names.length - differing.length} of ${names.length} artifacts have the same bytes; ${left.length} engine processes left`
    );
    return differing.length === 0 && left.length === 0 ? 0 : 1;
  } finally {
    await stage.worker.stop();
    await stage.server.stop();
    if (values.keep) say(`kept: ${folder}`);
    else await rm(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
