import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { takeDead } from '../../activities/dead-connections.js';
import { writeLease } from '../../engines/supervision/lease.js';
import { identify } from '../../shared/runtime/process-identity.js';

it('connections to engines that are gone are given up; one whose lease cannot be read just now is kept', async () => {
  const root = await mkdtemp(join(tmpdir(), 'memagent-dead-'));
  const child = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => 0, 1e6)']);
  try {
    await once(child.stdout, 'data');
    const [ours, theirs, none] = ['ours', 'theirs', 'none'].map((name) => join(root, name)) as [string, string, string];
    for (const folder of [ours, theirs, none]) await mkdir(folder);
    const lease = {
      owner: identify(process.pid),
      engine: identify(child.pid as number),
      port: 1,
      token: 1,
      specHash: '',
    };
    await writeLease(ours, { ...lease, host: hostname() });
    await writeLease(theirs, { ...lease, host: 'elsewhere' });
    const connections = new Map([ours, theirs, none].map((folder) => [folder, { to: folder }]));
    expect((await takeDead(connections)).map(({ to }) => to)).toEqual([theirs, none]);
    expect([...connections.keys()]).toEqual([ours]);
    await writeFile(join(ours, 'engine.json'), '{"torn');
    expect(await takeDead(connections)).toEqual([]);
    await writeLease(ours, { ...lease, host: hostname() });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await takeDead(connections)).toEqual([{ to: ours }]);
  } finally {
    child.kill('SIGKILL');
    await rm(root, { recursive: true });
  }
});
