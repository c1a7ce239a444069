import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, type ProcessIdentity } from '../../shared/runtime/process-identity.js';
import { untilUp, type Stage } from './processes.js';

/** Engine processes that a run's folder knows of and that live. */
export function liveEngines(runDirectory: string): ProcessIdentity[] {
  const folder = join(runDirectory, '.engines');
  if (!existsSync(folder)) return [];
  const leases = readdirSync(folder)
    .sort()
    .map((name) => join(folder, name, 'engine.json'));
  return leases.flatMap((path) => {
    try {
      const { engine } = JSON.parse(readFileSync(path, 'utf8')) as { engine: ProcessIdentity };
      return isAlive(engine) ? [engine] : [];
    } catch {
      // No lease now: the engine is being started or stopped.
      return [];
    }
  });
}

export const FAULTS = ['engine', 'worker', 'server', 'deploy'] as const;
export type Fault = (typeof FAULTS)[number];

/**
 * Does one fault: SIGKILL of an engine, of the worker or of the Temporal server (both are started again), or SIGTERM of the
 * worker as in a deploy. @returns what was done, or undefined when there was nothing to hurt
 */
export async function strike(
  fault: Fault,
  stage: Stage,
  runDirectory: string,
  draw: number
): Promise<string | undefined> {
  switch (fault) {
    case 'engine': {
      const engines = liveEngines(runDirectory);
      const engine = engines[Math.floor(draw * engines.length)];
      if (engine === undefined) return undefined;
      process.kill(engine.pid, 'SIGKILL');
      return `SIGKILL engine ${engine.pid}`;
    }
    case 'worker':
      await stage.worker.kill();
      stage.worker.start();
      return 'SIGKILL worker';
    case 'server':
      await stage.server.kill();
      stage.server.start();
      await untilUp(stage.target);
      return 'SIGKILL Temporal server';
    case 'deploy':
      await stage.worker.stop();
      stage.worker.start();
      return 'SIGTERM worker (deploy)';
  }
}
