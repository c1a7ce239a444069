/**
 * `make drill`: what an operator does to a running pipeline, timed: a deploy (every worker replaced in turn while an arm trains), the
 * death of engine, worker and server, and a cancel at five points. Exit 1 when a deploy spends a budget or changes a byte, a take-over
 * takes longer than the heartbeat time-out + 3 s, or a cancelled run leaves something after 10 s.
 */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { nextFreePort } from '../shared/runtime/ports.js';
import { takeOverTable } from './chaos/chaos-report.js';
import { laptopChaosRecipe } from './chaos/compare-runs.js';
import type { AccountedFault } from './chaos/ledger.js';
import { setTheStage, type Stage } from './chaos/processes.js';
import { runUnderFire } from './chaos/run.js';
import { CANCEL_POINTS, cancelDrill, type Cancelled } from './drill/cancel.js';
import { deployDrill, type DeployDrill } from './drill/deploy.js';
import { takeOverDrill } from './drill/take-over.js';
import { interruption } from './interruption.js';

const { values } = parseArgs({
  options: { steps: { type: 'string', default: '24' }, rounds: { type: 'string', default: '3' } },
});

const PORT = 17_633;
const HEARTBEAT_SECONDS = 3;
const TAKE_OVER_GRACE_SECONDS = 3;
const CLEAN_SECONDS = 10;
const PROCESSES = [['workflow'], ['data'], ['rollout'], ['train'], ['convert', 'evaluate']];

async function main(): Promise<number> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'memagent-drill-')));
  try {
    const place = { folder: join(folder, 'stage'), tag: 'local', port: await nextFreePort(PORT) };
    const stage = await setTheStage({ ...place, processes: PROCESSES });
    try {
      const work = drills(stage, folder);
      // After an interruption it fails because its server is gone: nobody asks any more.
      work.catch(() => undefined);
      const problems = await Promise.race([work, interruption()]);
      for (const problem of problems) console.log(`PROBLEM: ${problem}`);
      return problems.length === 0 ? 0 : 1;
    } finally {
      await stage.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function drills(stage: Stage, folder: string): Promise<string[]> {
  const recipe = laptopChaosRecipe(Number(values.steps), HEARTBEAT_SECONDS);
  const place = (id: string) => {
    const root = join(folder, id);
    return { stage, id, root, runDirectory: join(root, id), recipe: { ...recipe, artifacts: root } };
  };
  const calm = await runUnderFire({ ...place('calm'), say: () => undefined });
  console.log(`calm run: ${calm.seconds.toFixed(1)} s`);
  const deploy = await deployDrill({ ...place('deploy'), calmDirectory: place('calm').runDirectory });
  console.log(deployText(deploy));
  const { artifacts } = calm;
  const options = { heartbeatMs: HEARTBEAT_SECONDS * 1000, artifacts, rounds: Number(values.rounds) };
  const ledger = await takeOverDrill({ ...place('take-over'), ...options });
  console.log(takeOverTable(ledger.faults).join('\n'));
  const cancelled: Cancelled[] = [];
  for (const [index, point] of CANCEL_POINTS.entries())
    cancelled.push(await cancelDrill(point, place(`cancel-${index + 1}`)));
  console.log(cancelText(cancelled));
  return [...deploy.problems, ...ledger.problems, ...slow(ledger.faults), ...unclean(cancelled)];
}

function deployText({ timeline }: DeployDrill): string {
  const lines = timeline.map(({ at, what }) => `${at.toFixed(1).padStart(8)} s  ${what}`);
  return ['', 'a deploy while the arms train:', ...lines, ''].join('\n');
}

function slow(faults: readonly AccountedFault[]): string[] {
  const allowed = HEARTBEAT_SECONDS + TAKE_OVER_GRACE_SECONDS;
  return faults
    .filter(({ takenOverSeconds }) => (takenOverSeconds ?? 0) > allowed)
    .map(
      ({ what, takenOverSeconds }) =>
        `${what}: taken over after ${takenOverSeconds?.toFixed(1)} s, ${allowed} s are allowed`
    );
}

function cancelText(cancelled: readonly Cancelled[]): string {
  const rows = cancelled.map(
    ({ name, endedAfter, cleanAfter }) =>
      `${name.padEnd(24)}  ${endedAfter.toFixed(1).padStart(5)}       ${cleanAfter.toFixed(1).padStart(5)}`
  );
  return ['', 'cancelled                 ended (s)   nothing left (s)', ...rows].join('\n');
}

function unclean(cancelled: readonly Cancelled[]): string[] {
  return cancelled
    .filter(({ cleanAfter, left }) => left.length > 0 || cleanAfter > CLEAN_SECONDS)
    .map(
      ({ name, cleanAfter, left }) =>
        `cancelled ${name}: after ${cleanAfter.toFixed(1)} s left: ${left.join(', ') || 'nothing'}`
    );
}

process.exit(
  await main().catch((error: Error) => {
    console.error(`error: ${error.message}`);
    return 1;
  })
);
