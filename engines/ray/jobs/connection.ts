import { readFile } from 'node:fs/promises';
import { Agent } from 'undici';
import { UserError } from '../../../shared/contracts/user-error.js';

/** How a cluster's dashboard is reached. */
export interface RayConnectionOptions {
  /** e.g. `http://head:8265`; a path in front of `/api` is kept. */
  address: string;
  /** Sent as `Authorization: Bearer …`. */
  token?: string;
  /** PEM file that vouches for the dashboard's certificate. */
  caFile?: string;
  /** More headers, e.g. of a gateway. */
  headers?: Record<string, string>;
  /** Longest time of one exchange, the log's stream apart. Unit: milliseconds. Default: 30 seconds. */
  timeoutMs?: number;
  /** Longest answer that is read. Unit: bytes. Default: 64 MiB. */
  maxBodyBytes?: number;
}

const CONNECT_TIMEOUT_MS = 10_000;
const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_BODY_BYTES = 64 * 1024 * 1024;

/** An address with what every request to it needs. */
export interface RayConnection {
  /** Without a slash at the end. */
  address: string;
  headers: Record<string, string>;
  agent: Agent;
  /** PEM text. */
  ca: string | undefined;
  timeoutMs: number;
  maxBodyBytes: number;
}

/**
 * Opens nothing yet; reads the certificate file.
 *
 * The plain user agent matters: Ray takes requests without one, or with a browser's, for attacks from a web page (and Node's own
 * `fetch` for a browser), and refuses to submit, stop or delete for them.
 *
 * @throws UserError when the certificate file cannot be read
 */
export async function rayConnection(options: RayConnectionOptions): Promise<RayConnection> {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const maxBodyBytes = options.maxBodyBytes ?? DEFAULT_BODY_BYTES;
  const ca = options.caFile === undefined ? undefined : await certificate(options.caFile);
  return {
    address: options.address.replace(/\/+$/, ''),
    headers: {
      ...options.headers,
      'user-agent': 'memagent-pipeline/1',
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
    },
    agent: new Agent({
      connect: { timeout: Math.min(CONNECT_TIMEOUT_MS, timeoutMs), ...(ca === undefined ? {} : { ca }) },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    }),
    ca,
    timeoutMs,
    maxBodyBytes,
  };
}

async function certificate(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new UserError(`cluster.caFile ${path} cannot be read: ${(error as Error).message}`, {
      cure: 'Give the PEM file of the authority that signed the dashboard’s certificate, on this worker’s disk.',
      cause: error,
    });
  }
}
