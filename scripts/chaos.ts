/**
 * `make chaos SEED=n`: runs a short laptop pipeline twice, calmly and while processes, network, disk, checkpoints and clocks are
 * hurt at seeded moments, and compares every artifact's bytes. Exit 1 when any differs, a failed attempt is not accounted for,
 * something is left behind, or the run was over before its faults.
 */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chaosReport, problemsOf } from './chaos/chaos-report.js';
import { compareCalmAndChaos, laptopChaosRecipe } from './chaos/compare-runs.js';
import { interruption } from './interruption.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    faults: { type: 'string', default: '28' },
    steps: { type: 'string', default: '30' },
    keep: { type: 'boolean', default: false },
  },
});

const HEARTBEAT_SECONDS = 3;
/** A run on a fast machine may be over before its last faults; with fewer than these it shows too little. No unit. */
const LEAST_SHARE = 0.9;
/** One process for each kind of machine that a real deployment has. */
const PROCESSES = [['workflow'], ['data'], ['rollout'], ['train'], ['convert', 'evaluate']];

async function main(): Promise<number> {
  const seed = Number(values.seed);
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'memagent-chaos-')));
  try {
    const result = await compareCalmAndChaos({
      folder,
      seed,
      faults: Number(values.faults),
      recipe: laptopChaosRecipe(Number(values.steps), HEARTBEAT_SECONDS),
      heartbeatMs: HEARTBEAT_SECONDS * 1000,
      processes: PROCESSES,
      interrupted: interruption(),
      say: (text) => console.log(text),
    });
    console.log(chaosReport(result, seed));
    const enough = result.chaos.faults.length >= LEAST_SHARE * Number(values.faults);
    if (!enough)
      console.log(
        `only ${result.chaos.faults.length} of ${values.faults} faults found their moment: give more --steps`
      );
    return problemsOf(result).length === 0 && enough ? 0 : 1;
  } finally {
    if (values.keep) console.log(`kept: ${folder}`);
    else await rm(folder, { recursive: true, force: true });
  }
}

process.exit(
  await main().catch((error: Error) => {
    console.error(`error: ${error.message}`);
    return 1;
  })
);
