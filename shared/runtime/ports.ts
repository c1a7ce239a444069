import { createServer, type AddressInfo } from 'node:net';

/** Whether a program may listen on a port of this machine now. */
export function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** The first free port from `start` on. @throws Error when `tries` ports in a row are taken */
export async function nextFreePort(start: number, tries = 50): Promise<number> {
  for (let port = start; port < start + tries && port < 65_536; port++) if (await isPortFree(port)) return port;
  throw new Error(`no free port from ${start} on`);
}

/** A port that the system just gave and took back: free unless somebody is very quick. */
export function anyFreePort(host = '127.0.0.1'): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port: 0, host, exclusive: true }, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
