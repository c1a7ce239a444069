import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const REVISION = '27275ff4fee67ac0acb6478e405e7ac07efbdc1a';

/** A request as it arrived, at the hub or at the content host. */
export interface Seen {
  host: 'hub' | 'cdn';
  method: string;
  url: string;
  authorization: string | undefined;
  range: string | undefined;
}

/** What goes wrong; every count is used up by one request each. */
export interface Faults {
  /** Byte counts after which successive downloads are cut. */
  cutAfter: number[];
  /** Byte counts after which successive downloads of larger files say no more, but stay open. */
  holdAfter: number[];
  /** Successive downloads whose byte 10 is flipped. */
  flips: number;
  /** Statuses that successive requests to the hub get instead of an answer, with headers. */
  hubStatuses: { status: number; headers?: Record<string, string> }[];
  /** Statuses of successive requests to the content host. */
  cdnStatuses: number[];
  /** Answer ranged requests with the whole file and 200. */
  ignoreRange: boolean;
  /** Commit in `X-Repo-Commit`. */
  commit: string;
}

/** A local server that speaks the hub's protocol, and its content host on an origin of its own. */
export class HubServer {
  readonly seen: Seen[] = [];
  readonly faults: Faults = {
    cutAfter: [],
    holdAfter: [],
    flips: 0,
    hubStatuses: [],
    cdnStatuses: [],
    ignoreRange: false,
    commit: REVISION,
  };
  /** When set, the hub wants this token. */
  token: string | undefined;
  endpoint = '';
  private cdn = '';
  private readonly servers: Server[] = [];

  constructor(
    private readonly repo: { type: 'datasets' | 'models'; id: string },
    private readonly files: Record<string, { bytes: Buffer; lfs: boolean }>
  ) {}

  async start(): Promise<this> {
    this.cdn = await this.listen('cdn', (request, response) => this.answerCdn(request, response));
    this.endpoint = await this.listen('hub', (request, response) => void this.answerHub(request, response));
    return this;
  }

  async stop(): Promise<void> {
    for (const server of this.servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  private async listen(
    host: 'hub' | 'cdn',
    answer: (request: IncomingMessage, response: ServerResponse) => void
  ): Promise<string> {
    const server = createServer((request, response) => {
      const { method = '', url = '', headers } = request;
      this.seen.push({ host, method, url, authorization: headers.authorization, range: headers.range });
      answer(request, response);
    });
    this.servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  private async answerHub(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const piece of request) body += String(piece);
    const fault = this.faults.hubStatuses.shift();
    if (fault !== undefined) return void response.writeHead(fault.status, fault.headers).end('faulty');
    if (this.token !== undefined && request.headers.authorization !== `Bearer ${this.token}`) {
      return refuse(response, 401, 'RepoNotFound', 'Invalid username or password.');
    }
    const url = new URL(request.url ?? '/', this.endpoint);
    const prefix = `/api/${this.repo.type}/${this.repo.id}/`;
    const resolve = `${this.repo.type === 'datasets' ? '/datasets' : ''}/${this.repo.id}/resolve/`;
    if (url.pathname.startsWith(prefix)) return this.answerApi(url.pathname.slice(prefix.length), body, response);
    if (url.pathname.startsWith(resolve))
      return this.answerResolve(url.pathname.slice(resolve.length), request, response);
    refuse(response, 404, 'RepoNotFound', 'Repository not found');
  }

  private answerApi(rest: string, body: string, response: ServerResponse): void {
    const [call, revision] = rest.split('/');
    if (revision !== REVISION) return refuse(response, 404, 'RevisionNotFound', `Invalid rev id: ${revision}`);
    const entries = Object.entries(this.files).map(([path, { bytes, lfs }]) => ({
      type: 'file',
      path,
      size: bytes.byteLength,
      oid: createHash('sha1').update(`blob ${bytes.byteLength}\0`).update(bytes).digest('hex'),
      ...(lfs && { lfs: { oid: sha256(bytes), size: bytes.byteLength, pointerSize: 134 } }),
    }));
    const wanted = call === 'paths-info' ? (JSON.parse(body) as { paths: string[] }).paths : undefined;
    const found = entries.filter(({ path }) => wanted === undefined || wanted.includes(path));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found));
  }

  private answerResolve(rest: string, request: IncomingMessage, response: ServerResponse): void {
    const [revision = '', ...parts] = rest.split('/');
    const path = decodeURIComponent(parts.join('/'));
    const file = this.files[path];
    if (revision !== REVISION) return refuse(response, 404, 'RevisionNotFound', `Invalid rev id: ${revision}`);
    if (file === undefined) return refuse(response, 404, 'EntryNotFound', 'Entry not found');
    response.setHeader('x-repo-commit', this.faults.commit);
    if (file.lfs)
      return void response.writeHead(302, { location: `${this.cdn}/blob/${encodeURIComponent(path)}?sig=x` }).end();
    this.send(file.bytes, request, response);
  }

  private answerCdn(request: IncomingMessage, response: ServerResponse): void {
    const status = this.faults.cdnStatuses.shift();
    const file = this.files[decodeURIComponent((request.url ?? '').replace(/^\/blob\/|\?.*$/g, ''))];
    if (status !== undefined || file === undefined) return void response.writeHead(status ?? 404).end('no');
    this.send(file.bytes, request, response);
  }

  private send(whole: Buffer, request: IncomingMessage, response: ServerResponse): void {
    const start = this.faults.ignoreRange ? 0 : Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
    if (start >= whole.byteLength && start > 0) return void response.writeHead(416).end();
    const bytes = Buffer.from(whole.subarray(start));
    if (this.faults.flips > 0) {
      this.faults.flips -= 1;
      bytes[10] = (bytes[10] as number) ^ 1;
    }
    const range = { 'content-range': `bytes ${start}-${whole.byteLength - 1}/${whole.byteLength}` };
    const ranged = request.headers.range !== undefined && !this.faults.ignoreRange;
    response.writeHead(ranged ? 206 : 200, { 'content-length': bytes.byteLength, ...(ranged && range) });
    const held = bytes.byteLength > (this.faults.holdAfter[0] ?? Infinity) ? this.faults.holdAfter.shift() : undefined;
    if (held !== undefined) return void response.write(bytes.subarray(0, held));
    const cut = this.faults.cutAfter.shift();
    if (cut === undefined) return void response.end(bytes);
    response.write(bytes.subarray(0, cut), () => setTimeout(() => response.destroy(), 20));
  }
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  response.writeHead(status, { 'x-error-code': code, 'x-error-message': message, 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: message }));
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
