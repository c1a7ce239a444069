import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { withLock } from '../../engines/supervision/folder-lock.js';
import { readLease, writeLease } from '../../engines/supervision/lease.js';
import type { LiveEngine } from './engines.js';

/**
 * A bad network between the workers and one engine: passes every call on, cuts replies of `/generate` in half when told to, or
 * refuses connections. It takes its place by writing its own port into the engine's lease, so the product is not changed.
 */
export class EngineProxy {
  private readonly server: Server;
  private cuts = 0;
  private onCut: () => void = () => undefined;
  private port = 0;
  private readonly preludes = new Map<string, () => void>();

  private constructor(private readonly enginePort: number) {
    this.server = createServer((incoming, outgoing) => this.pass(incoming, outgoing));
  }

  /** @returns undefined when the engine's lease is not the one that was seen any more */
  static async between(engine: LiveEngine): Promise<EngineProxy | undefined> {
    const proxy = new EngineProxy(engine.lease.port);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    proxy.port = (proxy.server.address() as AddressInfo).port;
    const placed = await withLock(engine.folder, undefined, async () => {
      const lease = await readLease(engine.folder);
      if (lease?.token !== engine.lease.token || lease.port !== engine.lease.port) return false;
      await writeLease(engine.folder, { ...lease, port: proxy.port });
      return true;
    });
    if (placed) return proxy;
    proxy.close();
    return undefined;
  }

  /** Cuts the next replies of `/generate`. @returns how many were cut when the time was over */
  async cut(count: number, limitMs: number): Promise<number> {
    this.cuts = count;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.onCut = () => {
        if (this.cuts > 0) return;
        clearTimeout(timer);
        resolve();
      };
    });
    const left = this.cuts;
    this.cuts = 0;
    return count - left;
  }

  /** Does something once, just before the next call of a path is passed on. */
  before(path: string, prelude: () => void): void {
    this.preludes.set(path, prelude);
  }

  /** Stops listening: every new connection is refused, every open one breaks. */
  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method, url, headers } = incoming;
    const prelude = this.preludes.get(url ?? '');
    this.preludes.delete(url ?? '');
    prelude?.();
    const onward = request({ host: '127.0.0.1', port: this.enginePort, method, path: url, headers }, (reply) => {
      if (url === '/generate' && this.cuts > 0) return void this.half(reply, outgoing);
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(outgoing);
      reply.on('error', () => outgoing.destroy());
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }

  /** The head promises the whole length; the connection breaks after half of it. */
  private async half(reply: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    try {
      for await (const piece of reply) pieces.push(piece as Buffer);
    } catch {
      outgoing.destroy();
      return;
    }
    const body = Buffer.concat(pieces);
    outgoing.writeHead(reply.statusCode ?? 502, { ...reply.headers, 'content-length': body.byteLength });
    outgoing.write(body.subarray(0, body.byteLength / 2), () => {
      outgoing.destroy();
      if (this.cuts > 0) this.cuts -= 1;
      this.onCut();
    });
  }
}
