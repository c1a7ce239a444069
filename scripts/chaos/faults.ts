import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Progress } from '../../shared/contracts/progress.js';
import type { PhiloxStream } from '../../shared/random/philox.js';
import { entryPath } from '../../shared/runtime/entry.js';
import { flipBit, newestCheckpoint, truncateCheckpoint } from './damage.js';
import { EngineProxy } from './engine-proxy.js';
import { enginesOf, type LiveEngine } from './engines.js';
import { untilUp, type Stage, type Victim } from './processes.js';
import type { SmallDisk } from './small-disk.js';

export { liveEngines } from './engines.js';

export const FAULT_KINDS = [
  'kill engine',
  'kill worker',
  'kill server',
  'freeze worker',
  'freeze engine',
  'freeze server',
  'deploy',
  'rolling deploy',
  'cut reply',
  'refused port',
  'full disk',
  'torn checkpoint',
  'flipped bit',
  'clock jump',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** What faults are done to. */
export interface Target {
  stage: Stage;
  runDirectory: string;
  /** File system of the run, when it can be filled. */
  disk: SmallDisk | undefined;
  /** Heartbeat time-out of the run. Unit: milliseconds. */
  heartbeatMs: number;
  random: PhiloxStream;
  /** The run's progress; undefined when nobody answers. */
  progress(): Promise<Progress | undefined>;
}

/** What one fault hit. */
export interface Hit {
  what: string;
  /** Worker process that was killed or asked to end. */
  worker?: number;
  /** Name of the engine's folder. */
  engine?: string;
}

/** A frozen process stays so for this much longer than the heartbeat time-out. Unit: milliseconds. */
const FROZEN_LONGER_MS = 1_500;
const CUT_LIMIT_MS = 5_000;
const REFUSED_MS = 2_000;

/** What a worker logs when it serves its queues. */
const WORKER_UP = 'worker started';

/** Does one fault and what follows from it (a start again, room again). @returns undefined when there was nothing to hurt */
export async function strike(kind: FaultKind, target: Target): Promise<Hit | undefined> {
  switch (kind) {
    case 'kill engine':
      return onEngine(target, killEngine);
    case 'freeze engine':
      return onEngine(target, (engine) => freezeEngine(engine, target));
    case 'cut reply':
      return onEngine(target, (engine) => cutReplies(engine, 1 + target.random.nextInt(4)));
    case 'refused port':
      return onEngine(target, refusePort);
    case 'kill worker':
      return killWorker(drawn(target, target.stage.workers));
    case 'freeze worker':
      return freezeWorker(drawn(target, target.stage.workers), target);
    case 'deploy':
      return deploy([drawn(target, target.stage.workers)]);
    case 'rolling deploy':
      return deploy(target.stage.workers);
    case 'clock jump':
      return jumpClock(drawn(target, target.stage.workers));
    case 'kill server':
      return killServer(target.stage);
    case 'freeze server':
      return freezeServer(target);
    case 'full disk':
      return fillDisk(target);
    case 'torn checkpoint':
    case 'flipped bit':
      return damageCheckpoint(kind, target);
  }
}

function drawn<T>({ random }: Target, list: readonly T[]): T {
  return list[random.nextInt(list.length)] as T;
}

async function onEngine(
  target: Target,
  hurt: (engine: LiveEngine) => Hit | undefined | Promise<Hit | undefined>
): Promise<Hit | undefined> {
  const engines = enginesOf(target.runDirectory);
  return engines.length === 0 ? undefined : await hurt(drawn(target, engines));
}

function nameOf({ folder }: LiveEngine): string {
  return folder.slice(folder.lastIndexOf('/') + 1);
}

function signalled(engine: LiveEngine, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(engine.lease.engine.pid, signal);
  } catch {
    // It ended by itself in this very moment.
    return false;
  }
}

function killEngine(engine: LiveEngine): Hit | undefined {
  if (!signalled(engine, 'SIGKILL')) return undefined;
  return { what: `SIGKILL engine ${nameOf(engine)}`, engine: nameOf(engine) };
}

async function freezeEngine(engine: LiveEngine, { heartbeatMs }: Target): Promise<Hit | undefined> {
  if (!signalled(engine, 'SIGSTOP')) return undefined;
  const seconds = (heartbeatMs + FROZEN_LONGER_MS) / 1000;
  await pause(seconds * 1000);
  signalled(engine, 'SIGCONT');
  return { what: `SIGSTOP engine ${nameOf(engine)} for ${seconds} s` };
}

async function cutReplies(engine: LiveEngine, count: number): Promise<Hit | undefined> {
  const proxy = await EngineProxy.between(engine);
  if (proxy === undefined) return undefined;
  const cut = await proxy.cut(count, CUT_LIMIT_MS);
  // It goes on passing calls: whoever knows its port must not be refused because of a fault that is over.
  return cut === 0 ? undefined : { what: `${cut} replies of engine ${nameOf(engine)} cut in half` };
}

async function refusePort(engine: LiveEngine): Promise<Hit | undefined> {
  const proxy = await EngineProxy.between(engine);
  if (proxy === undefined) return undefined;
  proxy.close();
  await pause(REFUSED_MS);
  return { what: `port of engine ${nameOf(engine)} refuses` };
}

async function killWorker(worker: Victim): Promise<Hit> {
  const { pid } = worker;
  await worker.kill();
  worker.start();
  return hitOn(worker, 'SIGKILL', pid);
}

async function freezeWorker(worker: Victim, { heartbeatMs }: Target): Promise<Hit> {
  const seconds = (heartbeatMs + FROZEN_LONGER_MS) / 1000;
  worker.pause();
  await pause(seconds * 1000);
  worker.resume();
  return { what: `SIGSTOP ${worker.name} for ${seconds} s` };
}

async function deploy(workers: readonly Victim[]): Promise<Hit> {
  for (const worker of workers) {
    await worker.stop();
    worker.start();
    await worker.untilItSays(WORKER_UP);
  }
  return { what: `SIGTERM ${workers.map((worker) => worker.name).join(', then ')}` };
}

async function jumpClock(worker: Victim): Promise<Hit> {
  await worker.stop();
  worker.start({ NODE_OPTIONS: `--import=${pathToFileURL(entryPath('scripts/chaos/jumping-clock.js')).href}` });
  return { what: `clock of ${worker.name} jumps an hour, and back` };
}

function hitOn(worker: Victim, signal: string, pid: number | undefined): Hit {
  const what = `${signal} ${worker.name}`;
  return pid === undefined ? { what } : { what, worker: pid };
}

async function killServer(stage: Stage): Promise<Hit> {
  await stage.server.kill();
  stage.server.start();
  await untilUp(stage.target);
  return { what: 'SIGKILL Temporal server' };
}

async function freezeServer({ stage, heartbeatMs }: Target): Promise<Hit> {
  const seconds = (heartbeatMs + FROZEN_LONGER_MS) / 1000;
  stage.server.pause();
  await pause(seconds * 1000);
  stage.server.resume();
  return { what: `SIGSTOP Temporal server for ${seconds} s` };
}

async function fillDisk({ disk, random }: Target): Promise<Hit | undefined> {
  if (disk === undefined) return undefined;
  const seconds = Math.round(10 + random.nextInt(20)) / 10;
  disk.fill();
  await pause(seconds * 1000);
  disk.free();
  return { what: `disk full for ${seconds} s` };
}

/** Steps that must be left: a checkpoint that is damaged after the last one was saved is the operator's case. */
const STEPS_LEFT = 3;

async function damageCheckpoint(kind: 'torn checkpoint' | 'flipped bit', target: Target): Promise<Hit | undefined> {
  const { runDirectory, random } = target;
  const arms = Object.entries((await target.progress())?.arms ?? {})
    .filter(([, arm]) => arm.phase === 'train' && arm.step + STEPS_LEFT <= arm.totalSteps)
    .flatMap(([name]) => {
      const folder = newestCheckpoint(runDirectory, name);
      return folder === undefined ? [] : [{ name, folder }];
    });
  if (arms.length === 0) return undefined;
  const { name, folder } = drawn(target, arms);
  const path =
    kind === 'flipped bit'
      ? await flipBit(folder, random.nextUniform())
      : truncateCheckpoint(folder, random.nextUniform());
  const what = `${kind} in ${path.slice(runDirectory.length + 1)}`;
  const engine = enginesOf(runDirectory).find((live) => nameOf(live) === `${name}-train`);
  // The bit rots unseen; the torn checkpoint meets an engine that needs it.
  if (kind === 'flipped bit' || engine === undefined || !signalled(engine, 'SIGKILL')) return { what };
  return { what: `${what}, and SIGKILL of its engine`, engine: nameOf(engine) };
}
