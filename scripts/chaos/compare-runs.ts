import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../shared/runtime/entry.js';
import { PhiloxStream } from '../../shared/random/philox.js';
import { nextFreePort } from '../../shared/runtime/ports.js';
import { artifactHashes } from './artifact-hashes.js';
import type { FaultKind } from './faults.js';
import { leftovers } from './leftovers.js';
import { account, type Ledger } from './ledger.js';
import { drawPlan } from './plan.js';
import { setTheStage, type Stage } from './processes.js';
import { runUnderFire, type RunOutcome } from './run.js';
import { smallDisk, type SmallDisk } from './small-disk.js';

export interface ChaosOptions {
  /** Empty folder for server, runs and logs. */
  folder: string;
  seed: number;
  faults: number;
  /** Recipe without `artifacts`. */
  recipe: Record<string, unknown>;
  /** Heartbeat time-out of the recipe. Unit: milliseconds. */
  heartbeatMs: number;
  /** Roles of each worker process. */
  processes: readonly (readonly string[])[];
  /** Rejects when the whole thing shall be stopped; everything that was started is ended then. */
  interrupted?: Promise<never>;
  say(text: string): void;
}

export interface ChaosResult {
  calm: RunOutcome;
  chaos: RunOutcome;
  ledger: Ledger;
  /** Artifacts compared. */
  compared: number;
  differing: string[];
  /** What was still there when everything had ended. */
  left: string[];
  /** Kinds of faults that this machine does not allow, with the reason. */
  impossible: string[];
}

/** First port that is tried for the Temporal server. */
const PORT = 17_233;

/** Runs a recipe calmly, then under fire, and compares them. @throws Error when a run does not complete */
export async function compareCalmAndChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { folder } = options;
  const roots = { calm: join(folder, 'calm'), chaos: join(folder, 'chaos') };
  mkdirSync(roots.calm, { recursive: true });
  const disk = smallDisk(roots.chaos);
  try {
    const stage = await setTheStage({
      folder: join(folder, 'stage'),
      port: await nextFreePort(PORT),
      tag: 'local',
      processes: options.processes,
    });
    const never = new Promise<never>(() => undefined);
    const both = bothRuns(options, stage, roots, disk);
    // After an interruption it fails because its server is gone: nobody asks any more.
    both.catch(() => undefined);
    const { calm, chaos } = await Promise.race([both, options.interrupted ?? never]).finally(() => stage.stop());
    return {
      calm,
      chaos,
      ...compareBytes(join(roots.calm, 'calm'), join(roots.chaos, 'chaos')),
      ledger: account(chaos.faults, chaos.runs, chaos.progress),
      left: [...leftovers(roots.calm), ...leftovers(roots.chaos)],
      impossible: disk === undefined ? ['full disk: a file system may not be mounted here'] : [],
    };
  } finally {
    disk?.remove();
  }
}

interface Roots {
  calm: string;
  chaos: string;
}

async function bothRuns(
  { recipe, say, seed, faults, heartbeatMs }: ChaosOptions,
  stage: Stage,
  roots: Roots,
  disk: SmallDisk | undefined
): Promise<{ calm: RunOutcome; chaos: RunOutcome }> {
  const plan = (id: keyof Roots) => ({
    stage,
    say,
    id,
    recipe: { ...recipe, artifacts: roots[id] },
    runDirectory: join(roots[id], id),
  });
  const calm = await runUnderFire(plan('calm'));
  say(`calm run: ${calm.seconds.toFixed(1)} s, ${calm.artifacts} artifacts, verdict ${calm.progress.verdict?.outcome}`);
  const random = new PhiloxStream(seed, [0x4348_414f, 0, 0]);
  const excluded = new Set<FaultKind>(disk === undefined ? ['full disk'] : []);
  const drawn = drawPlan(random, faults, calm.artifacts, excluded);
  const chaos = await runUnderFire({ ...plan('chaos'), chaos: { plan: drawn, random, disk, heartbeatMs } });
  return { calm, chaos };
}

function compareBytes(calm: string, chaos: string): { compared: number; differing: string[] } {
  const [expected, found] = [artifactHashes(calm), artifactHashes(chaos)];
  const names = [...new Set([...Object.keys(expected), ...Object.keys(found)])].sort();
  return { compared: names.length, differing: names.filter((name) => expected[name] !== found[name]) };
}

/** The shipped laptop recipe with fewer steps and a short heartbeat. */
export function laptopChaosRecipe(steps: number, heartbeatSeconds: number): Record<string, unknown> {
  const laptop = JSON.parse(readFileSync(join(packageRoot(), 'recipes', 'laptop.json'), 'utf8')) as {
    grpo: object;
    evaluation: object;
  };
  return {
    ...laptop,
    $schema: undefined,
    name: 'chaos',
    grpo: { ...laptop.grpo, steps, checkpointEvery: 5 },
    evaluation: { ...laptop.evaluation, items: 64 },
    limits: { heartbeatSeconds },
  };
}
