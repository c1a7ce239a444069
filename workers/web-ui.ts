import { isLoopback, portOf } from './temporal-target.js';

const PROBE_LIMIT_MS = 1_500;

/**
 * Address of the Web UI beside a server on this machine: where the Temporal CLI puts it (port + 1000), or the compose file
 * (8080). Undefined when neither place answers like it.
 */
export async function findWebUi(address: string): Promise<string | undefined> {
  if (!isLoopback(address)) return undefined;
  for (const port of [portOf(address) + 1000, 8080]) {
    const url = `http://127.0.0.1:${port}`;
    try {
      const reply = await fetch(`${url}/api/v1/settings`, { signal: AbortSignal.timeout(PROBE_LIMIT_MS) });
      const settings: unknown = await reply.json();
      if (reply.ok && typeof settings === 'object' && settings !== null && 'DefaultNamespace' in settings) return url;
    } catch {
      // Nothing there, or something else.
    }
  }
  return undefined;
}
