/**
 * A server without latency: answers SGLang's `POST /generate` at once with the same response, so that a client's own cost can
 * be measured. Like the yardstick's `null_server.mjs`, but it counts the prompt's tokens: a client that checks its server
 * refuses a wrong count. `GET` answers with the number of requests so far.
 *
 * usage: node null-server.js <port> <response tokens> [<largest id>]
 */
import { createServer, type IncomingMessage } from 'node:http';

const [port = '0', responseTokens = '1024', largestId = '20999'] = process.argv.slice(2);

/** Ids up to the largest; the first are left out, because small vocabularies begin with control tokens. */
const first = Math.min(1000, Math.floor(Number(largestId) / 4));
const span = Number(largestId) - first + 1;
const ids = Array.from({ length: Number(responseTokens) }, (_, at) => first + ((at * 7919) % span));
const MARK = 987_654_321;
const [head = '', tail = ''] = JSON.stringify({
  text: '',
  output_ids: ids,
  meta_info: {
    id: 'null',
    finish_reason: { type: 'stop', matched: 151_645 },
    prompt_tokens: MARK,
    completion_tokens: ids.length,
    cached_tokens: 0,
    weight_version: 'default',
    output_token_logprobs: ids.map((id, at) => [-0.001 * (at % 97), id, null]),
  },
}).split(String(MARK));

const COMMA = 0x2c;

/** Numbers in the list `input_ids`, without parsing the body. */
function promptTokens(body: Buffer): number {
  const start = body.indexOf('[', body.indexOf('"input_ids"'));
  const end = body.indexOf(']', start);
  let commas = 0;
  for (let at = start; at < end; at += 1) commas += body[at] === COMMA ? 1 : 0;
  return commas + 1;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

let requests = 0;
const server = createServer((request, response) => {
  response.setHeader('content-type', 'application/json');
  if (request.method === 'GET') {
    response.end(JSON.stringify({ requests }));
    return;
  }
  bodyOf(request).then(
    (body) => {
      requests += 1;
      response.end(`${head}${promptTokens(body)}${tail}`);
    },
    // The client is gone.
    () => response.destroy()
  );
});
// A client between two turns must not find its connection closed.
server.keepAliveTimeout = 0;
server.requestTimeout = 0;
server.listen(Number(port), '127.0.0.1', () => console.log('listening'));
