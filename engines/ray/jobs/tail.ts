import { WebSocket } from 'undici';
import { onAbort } from '../../../shared/inference/on-abort.js';
import type { RayConnection } from './connection.js';
import { CouldNotLook } from './errors.js';

/** How a stream ended: `closed` by the server in good order, `broken` off, or `left` by us. */
export type TailEnd = 'closed' | 'broken' | 'left';

const GOOD_CLOSE = 1000;

/**
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
    const socket = new WebSocket(address, { headers: connection.headers, dispatcher: connection.agent });
    let opened = false;
    let settled = false;
    const settle = (act: () => void): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      forget();
      act();
      // Closing one that never opened, or is closed, does nothing that matters.
      socket.close();
    };
    const timer = setTimeout(
      () => settle(() => reject(new CouldNotLook(where, `not open within ${connection.timeoutMs} ms`))),
      connection.timeoutMs
    );
    const forget = onAbort(signal, () => settle(() => resolve('left')));
    socket.addEventListener('open', () => {
      opened = true;
      clearTimeout(timer);
    });
    socket.addEventListener('message', (event) => {
      if (settled) return;
      // Ray sends text only; anything else is not its log.
      if (typeof event.data !== 'string') settle(() => resolve('broken'));
      else if (!onText(event.data)) settle(() => resolve('left'));
    });
    socket.addEventListener('error', (event) => {
      const text = (event as { message?: unknown }).message;
      const problem = typeof text === 'string' && text !== '' ? text : 'the connection failed';
      settle(() => (opened ? resolve('broken') : reject(new CouldNotLook(where, problem))));
    });
    socket.addEventListener('close', (event) => {
      if (!opened) settle(() => reject(new CouldNotLook(where, 'closed before it was open')));
      else settle(() => resolve(event.wasClean && event.code === GOOD_CLOSE ? 'closed' : 'broken'));
    });
  });
}
