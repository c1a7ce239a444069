import { connect } from 'node:net';
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { NativeConnectionOptions } from '@temporalio/worker';
import { UserError } from '../shared/contracts/user-error.js';

type Environment = Record<string, string | undefined>;

export const DEFAULT_ADDRESS = 'localhost:7233';

/** Which Temporal server to talk to: `TEMPORAL_*` and the Temporal CLI’s configuration file. */
export interface TemporalTarget {
  address: string;
  namespace: string;
  /** The address was chosen by somebody, not by default. */
  explicit: boolean;
  options: NativeConnectionOptions;
}

/** @throws UserError when the configuration is unreadable */
export function temporalTarget(env: Environment = process.env): TemporalTarget {
  const overrideEnvVars = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  );
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig({ overrideEnvVars });
    // Absent members must stay absent: `tls: undefined` is not the same as no `tls` to every part of the SDK.
    const options = Object.fromEntries(
      Object.entries(connectionOptions).filter(([, value]) => value !== undefined)
    ) as NativeConnectionOptions;
    const explicit = options.address !== undefined;
    const address = options.address ?? DEFAULT_ADDRESS;
    return { address, namespace: namespace ?? 'default', explicit, options: { ...options, address } };
  } catch (error) {
    throw new UserError(`Temporal’s configuration cannot be used: ${(error as Error).message}`, {
      cure: 'Check the TEMPORAL_* variables and the file that TEMPORAL_CONFIG_FILE (default: temporalio/temporal.toml in your configuration folder) names.',
      cause: error,
    });
  }
}

/** A target on this machine, without TLS: what the development stack starts. */
export function localTarget(address: string, namespace: string): TemporalTarget {
  return { address, namespace, explicit: true, options: { address } };
}

/** Environment for child processes that shall use a local target and nothing else. */
export function targetEnvironment(target: TemporalTarget, env: Environment = process.env): NodeJS.ProcessEnv {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_') || name === 'TEMPORAL_CLI');
  return { ...Object.fromEntries(others), TEMPORAL_ADDRESS: target.address, TEMPORAL_NAMESPACE: target.namespace };
}

/** Unit: milliseconds. A server that is there answers much faster; one that is not must not keep a person waiting. */
const CONNECT_LIMIT_MS = 5_000;

export interface TemporalClient {
  client: Client;
  connection: Connection;
  target: TemporalTarget;
  close(): Promise<void>;
}

/** @throws UserError when the server does not answer, or refuses */
export async function connectClient(target: TemporalTarget): Promise<TemporalClient> {
  try {
    await refuseFast(target.address);
    const { address, tls, apiKey, metadata } = target.options;
    const connection = await Connection.connect({
      connectTimeout: CONNECT_LIMIT_MS,
      ...(address === undefined ? {} : { address }),
      ...(tls === undefined || tls === null ? {} : { tls }),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(metadata === undefined ? {} : { metadata: metadata as Record<string, string> }),
    });
    const client = new Client({ connection, namespace: target.namespace });
    return { client, connection, target, close: () => connection.close() };
  } catch (error) {
    throw unreachable(target, error);
  }
}

/**
 * The gRPC client asks a port that nobody listens on again and again until its time is over. On this machine one look is
 * enough to know. Elsewhere there may be a proxy on the way, so only there the client finds out by itself.
 */
export async function refuseFast(address: string): Promise<void> {
  if (!isLoopback(address)) return;
  const host = address.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  await new Promise<void>((resolve, reject) => {
    const socket = connect({ host, port: portOf(address) });
    socket.once('connect', () => resolve(void socket.destroy()));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') reject(new Error('connection refused'));
      else resolve();
    });
  });
}

/** Whether a Temporal server answers. */
export async function isReachable(target: TemporalTarget): Promise<boolean> {
  try {
    await (await connectClient(target)).close();
    return true;
  } catch {
    return false;
  }
}

export function unreachable(target: TemporalTarget, error: unknown): UserError {
  const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
  const cure = isLoopback(target.address)
    ? 'Start one with `memagent dev` (development) or `docker compose -f docker-compose.temporal.yml up -d`, or set TEMPORAL_ADDRESS.'
    : 'Check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_TLS and TEMPORAL_API_KEY, and that the server is up.';
  return new UserError(`no Temporal server answers at ${target.address} (${reason ?? 'no reason given'})`, {
    cure,
    cause: error,
  });
}

/** Whether an address is on this machine, where a server can be started. */
export function isLoopback(address: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\]|0\.0\.0\.0)(:\d+)?$/.test(address);
}

/** Port of a loopback address; Temporal's default when it has none. */
export function portOf(address: string): number {
  return Number(/:(\d+)$/.exec(address)?.[1] ?? 7233);
}
