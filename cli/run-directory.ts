import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXIT, UserError } from '../shared/contracts/user-error.js';

/**
 * A run's directory from what a person gave: a path, or the id of a run in `./runs`.
 *
 * @throws UserError
 */
export function runDirectory(given: string, runsRoot = './runs'): string {
  for (const candidate of [resolve(given), resolve(join(runsRoot, given))])
    if (existsSync(candidate) && statSync(candidate).isDirectory()) return candidate;
  throw new UserError(`there is no run directory ${given}, and no run ${given} in ${resolve(runsRoot)}`, {
    cure: 'Give the folder <root>/<run id>; `memagent status <run>` prints it for a run on the server.',
    exitCode: EXIT.usage,
  });
}
