import { hasLease, isHere, readLease } from '../engines/supervision/lease.js';
import { isAlive } from '../shared/runtime/process-identity.js';

/**
 * Takes the connections out of a map whose engine is gone. An engine is stopped by whichever worker is told to; the connections
 * that others keep to it are theirs to close. One whose lease cannot be read just now stays.
 *
 * @param connections by the engine's folder
 */
export async function takeDead<T>(connections: Map<string, T>): Promise<T[]> {
  const dead: T[] = [];
  for (const [folder, connection] of [...connections]) {
    if (await isEngineThere(folder)) continue;
    // Meanwhile the folder may have got a new engine, and a new connection.
    if (connections.get(folder) !== connection) continue;
    connections.delete(folder);
    dead.push(connection);
  }
  return dead;
}

async function isEngineThere(folder: string): Promise<boolean> {
  const lease = await readLease(folder);
  if (lease === undefined) return hasLease(folder);
  return isHere(lease) && isAlive(lease.engine);
}
