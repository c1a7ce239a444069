import type { Server } from 'node:http';
import { isAlive, type ProcessIdentity } from '../../../shared/runtime/process-identity.js';

const OWNER_CHECK_MS = 1_000;
/** Time for replies that are being made when the engine is told to end; the supervisor kills after 5 s. */
const GRACE_MS = 3_000;

/**
 * Ends this process with its owner: at once when the pipe from it closes, which the system does however the owner ended, and
 * within a second when the pipe is held open by somebody else.
 */
export function dieWithOwner(owner: ProcessIdentity, end: (reason: string) => void): void {
  process.stdin.on('end', () => end('the owner closed the pipe'));
  process.stdin.on('error', () => end('the pipe to the owner broke'));
  process.stdin.resume();
  setInterval(() => {
    if (!isAlive(owner)) end('the owner is gone');
  }, OWNER_CHECK_MS).unref();
}

/** Takes no new connections, lets running replies finish, then ends; in any case after 3 s. */
export function endGracefully(server: Server, end: () => void): void {
  setTimeout(end, GRACE_MS).unref();
  server.close(end);
  server.closeIdleConnections();
}
