import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { UserError } from '../shared/contracts/user-error.js';
import { lastLines } from '../shared/temporal-binary/run-program.js';
import { startGuarded, type GuardedProcess } from '../shared/runtime/guarded-process.js';
import { setUpNamespace } from './namespace-setup.js';
import { SEARCH_ATTRIBUTE_TYPES } from './search-attributes.js';
import { connectClient, localTarget, type TemporalTarget } from './temporal-target.js';

export interface DevServerOptions {
  /** The Temporal CLI. */
  binary: string;
  port: number;
  uiPort: number;
  namespace: string;
  /** SQLite file: what makes runs outlive the server. */
  dbFile: string;
  logFile: string;
  env: NodeJS.ProcessEnv;
}

export interface DevServer {
  target: TemporalTarget;
  uiUrl: string;
  process: GuardedProcess;
}

const HOST = '127.0.0.1';
const START_LIMIT_MS = 60_000;
const POLL_MS = 100;

/** Names of attribute types as the CLI spells them. */
const CLI_TYPES = { KEYWORD: 'Keyword', INT: 'Int' } as const;

/** Arguments of `temporal server start-dev` that register our search attributes. */
export function searchAttributeArguments(): string[] {
  return Object.entries(SEARCH_ATTRIBUTE_TYPES).flatMap(([name, type]) => [
    '--search-attribute',
    `${name}=${CLI_TYPES[type]}`,
  ]);
}

function serverArguments(options: DevServerOptions): string[] {
  return [
    ...['server', 'start-dev', '--ip', HOST, '--port', String(options.port)],
    ...['--ui-port', String(options.uiPort), '--db-filename', options.dbFile],
    ...['--namespace', options.namespace, '--log-level', 'error'],
    ...searchAttributeArguments(),
  ];
}

/**
 * Starts a development server with its data in a file, and waits until it takes calls and its namespace is set up.
 *
 * @throws UserError with the end of the server's log when it does not come up
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  await mkdir(dirname(options.dbFile), { recursive: true });
  const { env, logFile } = options;
  const server = startGuarded(options.binary, serverArguments(options), { env, logFile });
  const target = localTarget(`${HOST}:${options.port}`, options.namespace);
  try {
    await waitUntilUp(server, target, options);
    await setUpNamespace(target);
  } catch (error) {
    await server.stop(2_000);
    throw error;
  }
  return { target, uiUrl: `http://${HOST}:${options.uiPort}`, process: server };
}

async function waitUntilUp(server: GuardedProcess, target: TemporalTarget, options: DevServerOptions): Promise<void> {
  const deadline = performance.now() + START_LIMIT_MS;
  for (;;) {
    if (server.exitCode() !== undefined || performance.now() > deadline) throw await startProblem(server, options);
    const up = await connectClient(target).then(
      (connected) => connected.close().then(() => true),
      () => false
    );
    if (up && server.exitCode() === undefined) return;
    await pause(POLL_MS);
  }
}

async function startProblem(server: GuardedProcess, options: DevServerOptions): Promise<UserError> {
  const log = await readFile(options.logFile, 'utf8').catch(() => '');
  const code = server.exitCode();
  const how = code === undefined ? `was not up after ${START_LIMIT_MS / 1000} s` : `ended with code ${code}`;
  return new UserError(`the Temporal development server ${how}: ${lastLines(log) || 'it printed nothing'}`, {
    cure: `Its whole log is ${options.logFile}. A damaged database can be moved away: ${options.dbFile}.`,
  });
}
