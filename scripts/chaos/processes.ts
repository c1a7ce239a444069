import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { entryPath } from '../../shared/runtime/entry.js';
import { TEMPORAL_CLI } from '../../shared/temporal-binary/binary-kinds.js';
import { findBinary } from '../../shared/temporal-binary/find-binary.js';
import { setUpNamespace } from '../../workers/namespace-setup.js';
import { searchAttributeArguments } from '../../workers/temporal-server.js';
import { connectClient, localTarget, targetEnvironment, type TemporalTarget } from '../../workers/temporal-target.js';
import { Victim } from './victim.js';

export { Victim } from './victim.js';

export interface Stage {
  target: TemporalTarget;
  server: Victim;
  /** Worker processes, each with roles of its own. */
  workers: Victim[];
  /** Ends the workers, then the server. */
  stop(): Promise<void>;
}

export interface StageOptions {
  /** Folder of the server's database and of the logs. */
  folder: string;
  port: number;
  tag: string;
  /** Roles of each worker process. */
  processes: readonly (readonly string[])[];
}

/** A file-backed Temporal server and worker processes, all in process groups of their own. */
export async function setTheStage(options: StageOptions): Promise<Stage> {
  const { folder, port } = options;
  mkdirSync(folder, { recursive: true });
  const target = localTarget(`127.0.0.1:${port}`, 'default');
  const server = await serverVictim(folder, port);
  const workers = options.processes.map((roles) => workerVictim(roles, options, target));
  const stop = async (): Promise<void> => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await server.stop();
  };
  server.start();
  try {
    await untilUp(target);
    await setUpNamespace(target);
    for (const worker of workers) worker.start();
    return { target, server, workers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function serverVictim(folder: string, port: number): Promise<Victim> {
  const { path } = await findBinary(TEMPORAL_CLI);
  const database = ['--db-filename', join(folder, 'temporal.db'), '--log-level', 'error'];
  const args = [
    'server',
    'start-dev',
    '--headless',
    '--port',
    String(port),
    ...database,
    ...searchAttributeArguments(),
  ];
  return new Victim('Temporal server', path, args, process.env, join(folder, 'server.log'));
}

/** A worker process for roles, not yet started. */
export function workerVictim(
  roles: readonly string[],
  { folder, tag }: Pick<StageOptions, 'folder' | 'tag'>,
  target: TemporalTarget
): Victim {
  const name = `worker ${roles.join('+')}`;
  const options = ['--tag', tag, ...roles.flatMap((role) => ['--role', role])];
  const args = [entryPath('cli/main.js'), 'worker', ...options];
  const log = join(folder, `worker-${roles.join('-')}.log`);
  return new Victim(name, process.execPath, args, targetEnvironment(target), log);
}

/** Returns when the server takes calls. */
export async function untilUp(target: TemporalTarget, limitMs = 60_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    try {
      await (await connectClient(target)).close();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await pause(100);
    }
  }
}
