import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { readLineage } from '../../../engines/ray/follow/lineage.js';
import type { Progress } from '../../../shared/contracts/progress.js';
import type { Checkout } from '../../helpers/framework-checkouts.js';
import type { RayHead } from '../../helpers/ray-head.js';
import { until } from '../../workflows/support.js';
import { rayRecipe } from '../ray-support.js';
import { start } from '../support.js';
import { nameOf, type Misbehaviour } from './cases.js';

/** What a pipeline made of a misbehaviour. */
export interface Observed {
  types: string[];
  state: string;
  /** First steps of the training jobs after the first. */
  resumedAt: number[];
  /** From the misbehaviour to the failed attempt; undefined where no attempt failed for it. */
  seconds: number | undefined;
  /** What `progress` says to the user. */
  says: string;
}

export interface Place {
  environment: TestWorkflowEnvironment;
  head: RayHead;
  checkouts: Record<'relax' | 'vime', Checkout>;
  /** Folder of all runs. */
  root: string;
  tag: string;
}

/** Longest time between two steps before the job is stopped. Unit: minutes. */
export const STALL_MINUTES = 0.1;
/** Longer than any pause of a busy machine: no worker is killed here. Unit: seconds. */
export const HEARTBEAT_SECONDS = 20;
const USUAL = { count: 6, seconds: 0.1 };
const LIMIT_MS = 300_000;
const LONGEST_TEXT = 160;

/** Runs a whole pipeline whose training jobs misbehave, until it is over or waits for a decision. */
export async function observe(place: Place, misbehaviour: Misbehaviour, id: string): Promise<Observed> {
  const { environment, root } = place;
  const handle = await start(environment, recipeOf(place, misbehaviour), id);
  const progress = (): Promise<Progress> => handle.query<Progress>('progress');
  const over = async (): Promise<boolean> => !['running', 'paused'].includes((await progress()).state);
  try {
    await until(over, `${id} is over or halted`, LIMIT_MS);
    const seen = await progress();
    const { flavour } = misbehaviour;
    const { attempts } = await readLineage(join(root, id, `arms/${flavour}/job/train/lineage.json`));
    return {
      types: seen.attempts.map(({ type }) => type),
      state: seen.state,
      resumedAt: attempts.slice(1).map(({ firstStep }) => firstStep),
      seconds: secondsUnseen(join(root, id, `arms/${flavour}/checkpoints`), misbehaviour, seen),
      says: shown(seen, root),
    };
  } finally {
    await handle.cancel().catch(() => undefined);
    await handle.result().catch(() => undefined);
  }
}

function recipeOf({ head, checkouts, root, tag }: Place, misbehaviour: Misbehaviour): Record<string, unknown> {
  const { imitate, flavour, steps: { count, seconds } = USUAL } = misbehaviour;
  const recipe = rayRecipe(head, checkouts, root, tag, {
    env: { IMITATE: imitate, IMITATE_STEP_SECONDS: String(seconds) },
    smoke: { steps: 1 },
    grpo: { steps: count, promptsPerStep: 2, groupSize: 4, learningRate: 2e-4, checkpointEvery: 2 },
    evaluation: { lengths: [2], items: 2, concurrency: 4, serverContext: 128 },
    limits: { heartbeatSeconds: HEARTBEAT_SECONDS },
    onHalt: 'wait',
  });
  const arms = recipe['arms'] as Record<string, unknown>;
  const cluster = recipe['cluster'] as object;
  return {
    ...recipe,
    arms: { [flavour]: arms[flavour] },
    cluster: { ...cluster, startMinutes: 1, stepMinutes: STALL_MINUTES },
  };
}

/** Time from what the program noted of itself to the attempt that failed after it. */
function secondsUnseen(checkpoints: string, misbehaviour: Misbehaviour, seen: Progress): number | undefined {
  const path = join(checkpoints, '.misbehaved.jsonl');
  if (!existsSync(path)) return undefined;
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  const records = lines.map((line) => JSON.parse(line) as { name: string; time: number });
  const began = records.find(({ name }) => name === nameOf(misbehaviour))?.time;
  if (began === undefined) return undefined;
  const failed = seen.attempts.map(({ at }) => Date.parse(at) / 1000).find((at) => at >= began);
  return failed === undefined ? undefined : failed - began;
}

/** The sentence of the halt, else of the last failed attempt; without what differs from run to run. */
function shown({ halt, attempts }: Progress, root: string): string {
  const [first = ''] = (halt?.message ?? attempts.at(-1)?.message ?? '').split('\n', 1);
  const text = first
    .replaceAll(root, 'RUNS')
    .replace(/(-\d+)-[0-9a-f]{8}\b/, '$1')
    .replace(/ for \d+\.\d s /, ' for … s ');
  return text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT - 1)}…`;
}
