/**
 * `make long STEPS=n`: trains one arm for many tiny steps across continue-as-new and reports history a step and memory over time;
 * then runs many pipelines at once on one set of workers and compares their bytes with the same pipelines run alone. Exit 1 when
 * a limit is passed or bytes differ.
 */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { nextFreePort } from '../shared/runtime/ports.js';
import { setTheStage, workerVictim, type Stage } from './chaos/processes.js';
import { interruption } from './interruption.js';
import { longTraining, type LongTraining } from './long/long-training.js';
import { manyPipelines, type ManyPipelines } from './long/many-pipelines.js';

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '2000' },
    pipelines: { type: 'string', default: '8' },
    'pipeline-steps': { type: 'string', default: '6' },
  },
});

const PORT = 17_433;
const MOST_EVENTS_A_STEP = 30;
const MOST_BYTES_A_STEP = 10 * 1024;
/** From the middle of a run to its end: an allocator needs some room, and what is kept of each step shows. Unit: MiB. */
const MOST_GROWTH = 24;

async function main(): Promise<number> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'memagent-long-')));
  try {
    const place = { folder: join(folder, 'stage'), tag: 'local' };
    const processes = [
      ['workflow', 'data'],
      ['rollout', 'train', 'convert', 'evaluate'],
    ];
    const stage = await setTheStage({ ...place, port: await nextFreePort(PORT), processes });
    try {
      const work = bothParts(stage, place, folder);
      work.catch(() => undefined);
      return await Promise.race([work, interruption()]);
    } finally {
      await stage.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function bothParts(stage: Stage, place: { folder: string; tag: string }, folder: string): Promise<number> {
  const steps = Number(values.steps);
  const long = steps === 0 ? undefined : await longTraining(stage, join(folder, 'long'), steps, marks(steps));
  if (long !== undefined) console.log(longText(long));
  const extra = workerVictim(['rollout'], place, stage.target);
  const options = { pipelines: Number(values.pipelines), steps: Number(values['pipeline-steps']), extra };
  const many = await manyPipelines(stage, folder, options);
  console.log(manyText(many));
  return isGood(long, many) ? 0 : 1;
}

/** Steps at which memory is looked at: a twentieth, a half, and shortly before the end. */
function marks(steps: number): number[] {
  return [steps / 20, steps / 2, steps * 0.98].map(Math.floor);
}

function perStep(long: LongTraining): { events: number; bytes: number } {
  return { events: long.history.events / long.steps, bytes: long.history.bytes / long.steps };
}

function isGood(long: LongTraining | undefined, many: ManyPipelines): boolean {
  const step = long === undefined ? { events: 0, bytes: 0 } : perStep(long);
  const isSmall = step.events <= MOST_EVENTS_A_STEP && step.bytes <= MOST_BYTES_A_STEP;
  const isFlat =
    long === undefined || (long.memory.length === 3 && growth(long).every(([, more]) => more <= MOST_GROWTH));
  return many.differing.length === 0 && isSmall && isFlat;
}

/** How much each process grew from the middle of the run to its end, MiB. */
function growth(long: LongTraining): [name: string, mebibytes: number][] {
  const [, middle, end] = long.memory;
  return Object.entries(end?.mebibytes ?? {}).map(([name, size]) => [name, size - (middle?.mebibytes[name] ?? 0)]);
}

function longText(long: LongTraining): string {
  const { history } = long;
  const step = perStep(long);
  return [
    `${long.steps} steps in ${long.seconds.toFixed(0)} s, ${history.runs} workflow runs (continue-as-new), the longest with ${history.longest} events`,
    `a step: ${step.events.toFixed(1)} events (at most ${MOST_EVENTS_A_STEP}), ${(step.bytes / 1024).toFixed(1)} KiB (at most ${MOST_BYTES_A_STEP / 1024})`,
    ...long.memory.map(
      ({ step: at, mebibytes }) =>
        `memory at step ${at}: ${Object.entries(mebibytes)
          .map(([name, size]) => `${name} ${size} MiB`)
          .join(', ')}`
    ),
    `from the middle to the end (at most ${MOST_GROWTH} MiB more): ${growth(long)
      .map(([name, more]) => `${name} ${more > 0 ? '+' : ''}${more} MiB`)
      .join(', ')}`,
  ].join('\n');
}

function manyText(many: ManyPipelines): string {
  return [
    `${many.pipelines} pipelines: ${many.alone.toFixed(0)} s one after the other, ${many.together.toFixed(0)} s at once, while a worker joined and left`,
    `${many.compared - many.differing.length} of ${many.compared} artifacts have the same bytes`,
    ...many.differing.map((name) => `differs: ${name}`),
  ].join('\n');
}

process.exit(
  await main().catch((error: Error) => {
    console.error(`error: ${error.message}`);
    return 1;
  })
);
