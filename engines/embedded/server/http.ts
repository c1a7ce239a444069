import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorForm, RequestError, validationError } from './request-error.js';
import { isRecord } from './sampling-params.js';

/** Bodies beyond this are refused: a batch of 64 prompts of 8,000 ids is about 4 MB. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** @throws RequestError 413 for a body over the limit, 400 for text that is not JSON */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const bytes = await readBody(request);
  if (bytes.length === 0) return {};
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    const reason = JSON.stringify((error as Error).message.slice(0, 200));
    throw validationError(
      `{'type': 'json_invalid', 'loc': ('body',), 'msg': 'JSON decode error', 'input': {}, 'ctx': {'error': ${reason}}}`
    );
  }
}

/** Like {@link readJsonBody}; a body that is no JSON object is an error. */
export async function readJsonObject(request: IncomingMessage): Promise<Record<string, unknown>> {
  const body = await readJsonBody(request);
  if (isRecord(body)) return body;
  throw validationError(`{'type': 'model_attributes_type', 'loc': ('body',), 'msg': 'Input should be a JSON object'}`);
}

/** @throws RequestError 400 unless the request says that its body is JSON (no word about it counts as yes) */
export function requireJsonType(request: IncomingMessage): void {
  const type = request.headers['content-type'];
  if (type === undefined || /^application\/([\w.+-]+\+)?json\b/i.test(type)) return;
  throw validationError(
    `{'loc': ['header', 'content-type'], 'msg': "Unsupported Media Type: Only 'application/json' is allowed", 'type': 'value_error'}`
  );
}

function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    request.on('data', (piece: Buffer) => {
      bytes += piece.byteLength;
      pieces.push(piece);
      if (bytes <= MAX_BODY_BYTES) return;
      pieces.length = 0;
      request.removeAllListeners('data').resume();
      reject(new RequestError(413, `the body is longer than ${MAX_BODY_BYTES} bytes.`));
    });
    request.once('end', () => resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)));
    request.once('error', reject);
    request.once('close', () =>
      reject(new RequestError(400, 'the client closed the connection before its body was there.'))
    );
  });
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  send(response, status, 'application/json', JSON.stringify(value));
}

export function sendText(response: ServerResponse, status: number, text: string): void {
  send(response, status, 'text/plain; charset=utf-8', text);
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) }).end(text);
}

/** An error reply in SGLang's shape; our own client also finds the type of the failure table in it. */
export function sendError(response: ServerResponse, error: unknown, form?: ErrorForm): void {
  // A reply that had begun cannot become an error any more: breaking it off is what the client will notice.
  if (response.headersSent && !response.writableEnded) return void response.destroy();
  const known =
    error instanceof RequestError
      ? error
      : new RequestError(500, error instanceof Error ? error.message : String(error));
  // What is left of a body that was refused must not be taken for the next request.
  if (known.status === 413 && !response.headersSent) response.setHeader('connection', 'close');
  sendJson(response, known.status, known.body(form));
}

/** Begins a reply of server-sent events. */
export function startEvents(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
}

/** Sends one event; `skippable` ones are left out while the client does not read, so that nothing piles up. */
export function sendEvent(response: ServerResponse, value: object, skippable = false): void {
  if (response.destroyed || (skippable && response.writableNeedDrain)) return;
  response.write(`data: ${JSON.stringify(value)}\n\n`);
}

export function endEvents(response: ServerResponse): void {
  if (!response.destroyed) response.end('data: [DONE]\n\n');
}
