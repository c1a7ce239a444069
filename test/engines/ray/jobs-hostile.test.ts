import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { RayJobsClient } from '../../../engines/ray/jobs/client.js';
import type { RayConnectionOptions } from '../../../engines/ray/jobs/connection.js';
import { CouldNotLook, RayRefused } from '../../../engines/ray/jobs/errors.js';

const TIMEOUT_MS = 1_000;
const LARGEST_BODY = 64 * 1024;

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function listen(server: Server, scheme: 'http' | 'https'): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function clientOf(address: string, more: Partial<RayConnectionOptions> = {}): Promise<RayJobsClient> {
  const client = await RayJobsClient.open({ address, timeoutMs: TIMEOUT_MS, maxBodyBytes: LARGEST_BODY, ...more });
  opened.push(() => client.close());
  return client;
}

/** What a dashboard says of a job. */
const JOB = { type: 'SUBMISSION', submission_id: 'a', status: 'RUNNING', entrypoint: 'x', message: '', metadata: {} };

describe('a dashboard that lies, is slow or is not one', () => {
  const answers: [what: string, answer: RequestListener][] = [
    ['a gateway’s 404', (_, reply) => void reply.writeHead(404).end('<html>nothing here</html>')],
    ['a gateway’s 503', (_, reply) => void reply.writeHead(503).end('starting')],
    ['a page instead of JSON', (_, reply) => void reply.end('<html>log in</html>')],
    ['half an answer', (_, reply) => void reply.writeHead(200, { 'content-length': '500' }).write('{"status": "RUN')],
    ['a status that there is not', (_, reply) => void reply.end(JSON.stringify({ ...JOB, status: 'LOST' }))],
    ['a list', (_, reply) => void reply.end('[]')],
    ['null', (_, reply) => void reply.end('null')],
    ['an answer without end', (_, reply) => endless(reply)],
    ['silence', () => undefined],
    ['a broken connection', (request) => void request.socket.destroy()],
  ];

  it.each(answers)('says nothing about a job: %s', async (_, answer) => {
    const client = await clientOf(await listen(createServer(answer), 'http'));
    await expect(client.status('a')).rejects.toBeInstanceOf(CouldNotLook);
  });

  it('says nothing about a job when nobody listens', async () => {
    const server = createServer();
    const address = await listen(server, 'http');
    await opened.pop()?.();
    const client = await clientOf(address);
    await expect(client.status('a')).rejects.toBeInstanceOf(CouldNotLook);
  });

  it('is believed when Ray itself does not know the job', async () => {
    const answer: RequestListener = (_, reply) => void reply.writeHead(404).end('Job a does not exist');
    const client = await clientOf(await listen(createServer(answer), 'http'));
    expect(await client.status('a')).toBeUndefined();
  });

  it('refuses with the last line of its traceback, without control characters', async () => {
    const text = 'Traceback (most recent call last):\n  File "x"\nTypeError: \u001b[31mno such\u0000 field\n';
    const answer: RequestListener = (_, reply) => void reply.writeHead(400).end(text);
    const client = await clientOf(await listen(createServer(answer), 'http'));
    const error: unknown = await client.status('a').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RayRefused);
    expect((error as Error).message).toMatch(/status 400: TypeError: .*no such.* field$/);
    expect((error as Error).message).not.toMatch(/[\u0000-\u001f]/);
  });
});

describe('a dashboard behind a gateway', () => {
  it('gets the token, more headers and our user agent, and keeps its path', async () => {
    const seen: { url: string | undefined; headers: IncomingHttpHeaders }[] = [];
    const answer: RequestListener = ({ url, headers }, reply) => {
      seen.push({ url, headers });
      reply.end(JSON.stringify(JOB));
    };
    const address = `${await listen(createServer(answer), 'http')}/team/ray/`;
    const client = await clientOf(address, { token: 'secret', headers: { 'x-team': 'memory' } });
    expect(await client.status('a')).toMatchObject({ submissionId: 'a', status: 'RUNNING' });
    expect(seen[0]?.url).toBe('/team/ray/api/jobs/a');
    expect(seen[0]?.headers).toMatchObject({
      authorization: 'Bearer secret',
      'x-team': 'memory',
      'user-agent': 'memagent-pipeline/1',
    });
    expect(seen[0]?.headers).not.toHaveProperty('origin');
  });

  it('is trusted by its certificate authority’s file alone', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'memagent-tls-'));
    opened.push(() => rm(folder, { recursive: true }));
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const options = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject];
    execFileSync('openssl', [...options, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
    const pair = { key: readFileSync(key), cert: readFileSync(certificate) };
    const server = createTlsServer(pair, (_, reply) => void reply.end(JSON.stringify(JOB)));
    const address = await listen(server, 'https');
    await expect((await clientOf(address)).status('a')).rejects.toThrow(/self.signed/i);
    const trusting = await clientOf(address, { caFile: certificate });
    expect(await trusting.status('a')).toMatchObject({ status: 'RUNNING' });
    await expect(clientOf(address, { caFile: join(folder, 'none.pem') })).rejects.toThrow(
      /cluster\.caFile .*none\.pem/
    );
  });
});

function endless(reply: Parameters<RequestListener>[1]): void {
  const piece = 'x'.repeat(16 * 1024);
  const more = (): void => {
    while (!reply.destroyed && reply.write(piece));
    reply.once('drain', more);
  };
  more();
}
