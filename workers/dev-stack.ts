import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { LOCAL_TAG } from '../shared/contracts/queues.js';
import { EXIT, UserError } from '../shared/contracts/user-error.js';
import { entryPath } from '../shared/runtime/entry.js';
import { identify } from '../shared/runtime/process-identity.js';
import { withFileLock } from '../shared/temporal-binary/file-lock.js';
import { findBinary } from '../shared/temporal-binary/find-binary.js';
import { lastLines } from '../shared/temporal-binary/run-program.js';
import { startGuarded } from '../shared/runtime/guarded-process.js';
import { endLeftovers, recordGroup } from './leftovers.js';
import { isPortFree, nextFreePort } from '../shared/runtime/ports.js';
import {
  isOwnerAlive,
  readStackState,
  removeStackState,
  stackFolder,
  writeStackState,
  type StackState,
} from './stack-state.js';
import { Supervisor } from './supervisor.js';
import {
  isLoopback,
  isReachable,
  localTarget,
  portOf,
  targetEnvironment,
  temporalTarget,
  unreachable,
  type TemporalTarget,
} from './temporal-target.js';
import { startDevServer } from './temporal-server.js';
import { findWebUi } from './web-ui.js';

export interface DevStackOptions {
  /** Folder of all runs; the stack's own files are in its `.temporal`. */
  runsRoot: string;
  env?: NodeJS.ProcessEnv;
  /** One sentence for people about what happens. */
  notice: (text: string) => void;
  /** Roles of the worker process. Default: all. */
  roles?: readonly string[];
  uiPort?: number;
}

/** A running development stack. */
export interface DevStack {
  target: TemporalTarget;
  /** Address of the Web UI, when it is known. */
  uiUrl?: string;
  /** This process started a server, and stops it. */
  ownsServer: boolean;
  /** Rejects when the stack cannot be kept running. */
  failed: Promise<never>;
  /** Stops the worker, then the server. Nothing is left running. */
  stop(): Promise<void>;
}

interface Server {
  target: TemporalTarget;
  uiUrl?: string;
  supervisor?: Supervisor;
}

/** Names of the stack’s processes in its folder. */
const SERVER = 'server';
const WORKER = 'worker';

/** A worker gets this long to give its activities back to the server. Unit: milliseconds. */
const WORKER_GRACE_MS = 20_000;
const SERVER_GRACE_MS = 5_000;

/** Longer than a start may take, a download of Temporal apart. Unit: milliseconds. */
const START_LOCK_LIMIT_MS = 120_000;

/** The stack another process of this folder runs, or undefined. */
export async function runningStack(runsRoot: string): Promise<StackState | undefined> {
  const state = await readStackState(resolve(runsRoot));
  if (state === undefined || !isOwnerAlive(state)) return undefined;
  return (await isReachable(localTarget(state.address, state.namespace))) ? state : undefined;
}

/**
 * Starts what a run on one machine needs: a Temporal server if none answers at the configured address, and one worker process
 * for every role with the tag `local`, started again when it dies.
 *
 * @throws UserError when another stack runs for this folder, or the server cannot be started
 */
export async function startDevStack(options: DevStackOptions): Promise<DevStack> {
  const runsRoot = resolve(options.runsRoot);
  // Two that start at once must not open one database with two servers.
  return await withFileLock(join(stackFolder(runsRoot), 'starting.lock'), START_LOCK_LIMIT_MS, async () => {
    const other = await runningStack(runsRoot);
    if (other === undefined) return await startFresh(runsRoot, options);
    throw new UserError(
      `a development stack for ${runsRoot} runs already (process ${other.owner.pid}, ${other.address})`,
      {
        cure: `Use it: export TEMPORAL_ADDRESS=${other.address}. Or stop it with Ctrl-C where it runs, or \`kill ${other.owner.pid}\`.`,
        exitCode: EXIT.usage,
      }
    );
  });
}

async function startFresh(runsRoot: string, options: DevStackOptions): Promise<DevStack> {
  await endLeftovers(stackFolder(runsRoot), [WORKER, SERVER], options.notice);
  await removeStackState(runsRoot);
  const server = await provideServer(runsRoot, options);
  const worker = workerSupervisor(runsRoot, server, options);
  const stop = async (): Promise<void> => {
    await worker.stop(WORKER_GRACE_MS);
    await server.supervisor?.stop(SERVER_GRACE_MS);
    await removeStackState(runsRoot);
  };
  try {
    await writeStackState(runsRoot, stateOf(server));
    await worker.begin();
  } catch (error) {
    await stop();
    throw error;
  }
  const failures = [worker.failed, ...(server.supervisor === undefined ? [] : [server.supervisor.failed])];
  const failed = Promise.race(failures);
  failed.catch(() => undefined);
  return {
    target: server.target,
    ...(server.uiUrl === undefined ? {} : { uiUrl: server.uiUrl }),
    ownsServer: server.supervisor !== undefined,
    failed,
    stop,
  };
}

function stateOf(server: Server): StackState {
  return {
    owner: identify(process.pid),
    address: server.target.address,
    namespace: server.target.namespace,
    ...(server.uiUrl === undefined ? {} : { uiUrl: server.uiUrl }),
    startedAt: new Date().toISOString(),
  };
}

async function provideServer(runsRoot: string, options: DevStackOptions): Promise<Server> {
  const env = options.env ?? process.env;
  const configured = temporalTarget(env);
  if (await isReachable(configured)) {
    options.notice(`using the Temporal server at ${configured.address}`);
    const uiUrl = await findWebUi(configured.address);
    return { target: configured, ...(uiUrl === undefined ? {} : { uiUrl }) };
  }
  if (!isLoopback(configured.address)) throw unreachable(configured, new Error('it is on another machine'));
  const port = await serverPort(configured, options.notice);
  return await ownServer(runsRoot, port, configured.namespace, options);
}

async function serverPort(configured: TemporalTarget, notice: (text: string) => void): Promise<number> {
  const wanted = portOf(configured.address);
  if (await isPortFree(wanted)) return wanted;
  if (configured.explicit) {
    throw new UserError(`port ${wanted} is in use by a program that is not a Temporal server`, {
      cure: `Stop that program (\`lsof -i :${wanted}\` names it), or set TEMPORAL_ADDRESS=127.0.0.1:PORT to another port.`,
    });
  }
  const port = await nextFreePort(wanted + 1);
  notice(`port ${wanted} is in use by another program: the server takes ${port}`);
  notice(`for other commands: export TEMPORAL_ADDRESS=127.0.0.1:${port}`);
  return port;
}

async function ownServer(runsRoot: string, port: number, namespace: string, options: DevStackOptions): Promise<Server> {
  const env = options.env ?? process.env;
  const binary = await findBinary(undefined, { env, notice: options.notice });
  const uiPort = await nextFreePort(options.uiPort ?? port + 1000);
  const folder = stackFolder(runsRoot);
  const logFile = join(folder, 'server.log');
  let uiUrl: string | undefined;
  const start = async () => {
    const server = await startDevServer({
      binary: binary.path,
      port,
      uiPort,
      namespace,
      env,
      dbFile: join(folder, 'temporal.db'),
      logFile,
    });
    uiUrl = server.uiUrl;
    await recordGroup(folder, SERVER, server.process.group);
    return server.process;
  };
  const supervisor = new Supervisor({
    name: 'the Temporal server',
    start,
    fatalCodes: [],
    fatalError: (code) => diedForGood('the Temporal server', code, logFile),
    onEnd: restartNotice(options, logFile),
  });
  await supervisor.begin();
  const target = localTarget(`127.0.0.1:${port}`, namespace);
  options.notice(`Temporal ${binary.version} at ${target.address}, Web UI ${uiUrl ?? ''}`);
  return { target, supervisor, ...(uiUrl === undefined ? {} : { uiUrl }) };
}

function workerSupervisor(runsRoot: string, server: Server, options: DevStackOptions): Supervisor {
  const roles = (options.roles ?? ['all']).flatMap((role) => ['--role', role]);
  const args = [entryPath('cli/main.js'), 'worker', ...roles, '--tag', LOCAL_TAG];
  const env = options.env ?? process.env;
  // A server of somebody else may want the TLS and API key settings that are there.
  const childEnv = server.supervisor === undefined ? env : targetEnvironment(server.target, env);
  const logFile = join(stackFolder(runsRoot), 'worker.log');
  return new Supervisor({
    name: 'the worker',
    start: async () => {
      const worker = startGuarded(process.execPath, args, { env: childEnv, logFile });
      await recordGroup(stackFolder(runsRoot), WORKER, worker.group);
      return worker;
    },
    fatalCodes: [EXIT.usage],
    fatalError: (code) => diedForGood('the worker', code, logFile),
    onEnd: restartNotice(options, logFile),
  });
}

type EndNotice = (event: { name: string; code: number; restartInMs: number }) => void;

function restartNotice(options: DevStackOptions, logFile: string): EndNotice {
  return ({ name, code, restartInMs }) =>
    options.notice(`${name} ended with code ${code} (log: ${logFile}); started again in ${restartInMs / 1000} s`);
}

function diedForGood(name: string, code: number, logFile: string): UserError {
  const log = existsSync(logFile) ? readFileSync(logFile, 'utf8') : '';
  return new UserError(`${name} cannot run: it ended with code ${code}: ${lastLines(log)}`, {
    cure: `Its whole log is ${logFile}.`,
  });
}
