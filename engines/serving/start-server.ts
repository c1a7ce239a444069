import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startGuarded, type GuardedProcess } from '../../shared/runtime/guarded-process.js';
import { oomKills } from '../../shared/runtime/oom-kills.js';
import { anyFreePort } from '../../shared/runtime/ports.js';
import { identify } from '../../shared/runtime/process-identity.js';
import { killGroup } from '../supervision/kill-group.js';
import { isHealthy, LOG_FILE, type StartedProcess } from '../supervision/leased-process.js';
import { boundLog } from './log-limit.js';
import { commandLine, type ServerSpec } from './server-spec.js';
import { startFailure } from './start-failure.js';

/** Servers need seconds to end in good order: SGLang 7 to 9. Unit: milliseconds. */
export const SERVER_GRACE_MS = 12_000;

const POLL_MS = 250;
/** Longest time for one answer while it starts; SGLang generates a token for it. Unit: milliseconds. */
const ANSWER_MS = 10_000;

/**
 * Starts a server in a process group of its own, on a free port, with its output in the folder's log, and waits until it answers.
 * It never outlives this process, and does not keep it from ending.
 *
 * @throws PipelineError OutOfMemory, EngineUnavailable with the end of the log when it dies or is not ready in time; the signal's
 *   reason when it is aborted
 */
export async function startServer(spec: ServerSpec, signal?: AbortSignal): Promise<StartedProcess> {
  signal?.throwIfAborted();
  const port = await anyFreePort();
  const logPath = join(spec.folder, LOG_FILE);
  const [program, ...args] = commandLine(spec, port);
  const killsBefore = await oomKills();
  const startedAt = performance.now();
  const server = startGuarded(program, args, { env: serverEnvironment(spec), logFile: logPath });
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  try {
    const code = await untilReady(server, `http://127.0.0.1:${port}`, spec.startSeconds, signal);
    if (code !== 'ready') {
      const noOomKill = killsBefore !== undefined && (await oomKills()) === killsBefore;
      throw await startFailure({ what: spec.kind, program, code, seconds: seconds(), noOomKill, logPath });
    }
    void server.ended.then(boundLog(logPath));
    return { port, identity: identify(server.group as number) };
  } catch (error) {
    if (server.group !== undefined) await killGroup(identify(server.group), SERVER_GRACE_MS);
    throw error;
  } finally {
    server.unref();
  }
}

/** Credentials of the worker's own services are none of the server's business. */
function serverEnvironment(spec: ServerSpec): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  return { ...Object.fromEntries(own), ...spec.env };
}

/** @returns its exit code when it ended, undefined when the time is over */
async function untilReady(
  server: GuardedProcess,
  endpoint: string,
  limitSeconds: number,
  signal: AbortSignal | undefined
): Promise<'ready' | number | undefined> {
  const deadline = performance.now() + limitSeconds * 1000;
  for (;;) {
    signal?.throwIfAborted();
    const code = server.exitCode();
    if (code !== undefined) return code;
    if (await isHealthy(endpoint, ANSWER_MS, signal)) return server.exitCode() ?? 'ready';
    if (performance.now() > deadline) return undefined;
    await Promise.race([delay(POLL_MS), server.ended]);
  }
}
