import { WebSocket } from 'ws';
import { onAbort } from '../../../shared/inference/on-abort.js';
import type { RayConnection } from './connection.js';
import { CouldNotLook } from './errors.js';

/** How a stream ended: `closed` by the server in good order, `broken` off, or `left` by us. */
export type TailEnd = 'closed' | 'broken' | 'left';

const GOOD_CLOSE = 1000;

/**
 * Not undici's WebSocket: it always offers compression, and then passes over every message that Ray's server (aiohttp) sends.
 *
 * Follows a job's log over a WebSocket. The server sends the whole file from its beginning, then what is added, and closes when
 * the job is over and everything was sent.
 *
 * @throws CouldNotLook when the WebSocket could not be opened within the connection's time limit
 */
export function tailLog(
  connection: RayConnection,
  path: string,
  onText: (text: string) => boolean,
  signal: AbortSignal
): Promise<TailEnd> {
  const address = connection.address.replace(/^http/, 'ws') + path;
  const where = `WebSocket ${address}`;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = new WebSocket(address, {
      headers: connection.headers,
      handshakeTimeout: connection.timeoutMs,
      maxPayload: connection.maxBodyBytes,
      perMessageDeflate: false,
      ...(connection.ca === undefined ? {} : { ca: connection.ca }),
    });
    let opened = false;
    let settled = false;
    const settle = (act: () => void): void => {
      if (settled) return;
      settled = true;
      forget();
      act();
      // Closes a connection that never opened, too, and waits for no answer of a server that is gone.
      socket.terminate();
    };
    const forget = onAbort(signal, () => settle(() => resolve('left')));
    socket.on('open', () => (opened = true));
    socket.on('message', (data, isBinary) => {
      if (settled) return;
      // Ray sends text only; anything else is not its log.
      if (isBinary) settle(() => resolve('broken'));
      else if (!onText((data as Buffer).toString('utf8'))) settle(() => resolve('left'));
    });
    socket.on('error', (error) =>
      settle(() => (opened ? resolve('broken') : reject(new CouldNotLook(where, error.message, { cause: error }))))
    );
    socket.on('close', (code) =>
      settle(() =>
        opened
          ? resolve(code === GOOD_CLOSE ? 'closed' : 'broken')
          : reject(new CouldNotLook(where, 'closed before it was open'))
      )
    );
  });
}
