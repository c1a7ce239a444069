import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sendError, sendJson } from './http.js';
import { RequestError } from './request-error.js';
import type { RouteContext } from './route-types.js';
import { ROUTES } from './routes.js';

const KEEP_ALIVE_MS = 60_000;
/** A client that takes longer to send its headers or its body is cut off. */
const HEADERS_MS = 30_000;
const REQUEST_MS = 120_000;

/** The HTTP server of an engine. An error of a request is its own: it becomes a reply and nothing else. */
export function createEngineServer(context: RouteContext, onError: (path: string, error: unknown) => void): Server {
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS, headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS },
    (request, response) => {
      dispatch(context, request, response).catch((error: unknown) => {
        if (!(error instanceof RequestError)) onError(request.url ?? '', error);
        sendError(response, error);
      });
    }
  );
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    else socket.destroy();
  });
  return server;
}

async function dispatch(context: RouteContext, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = request.url ?? '/';
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  const methods = Object.hasOwn(ROUTES, path) ? ROUTES[path] : undefined;
  if (methods === undefined) return sendJson(response, 404, { detail: 'Not Found' });
  const method = request.method ?? '';
  const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (handler === undefined) {
    response.setHeader('allow', Object.keys(methods).join(', '));
    return sendJson(response, 405, { detail: 'Method Not Allowed' });
  }
  await handler(context, request, response);
}

/** Listens on 127.0.0.1. @returns the port @throws the system's error, e.g. EADDRINUSE */
export function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
