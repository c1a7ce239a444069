import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

type Environment = Record<string, string | undefined>;

/** Folder of everything that is fetched once and used by all runs: `MEMAGENT_HOME`, else `memagent` in the XDG cache. */
export function memagentHome(env: Environment = process.env): string {
  const own = env['MEMAGENT_HOME'];
  if (own !== undefined && own !== '') return resolve(own);
  const xdg = env['XDG_CACHE_HOME'];
  // The XDG specification says that a relative path is to be ignored.
  const cache = xdg !== undefined && isAbsolute(xdg) ? xdg : join(homedir(), '.cache');
  return join(cache, 'memagent');
}
