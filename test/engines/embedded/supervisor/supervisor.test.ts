import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readLease } from '../../../../engines/supervision/lease.js';
import { stopAllOwned } from '../../../../engines/supervision/leased-process.js';
import { identify, isAlive, type ProcessIdentity } from '../../../../shared/runtime/process-identity.js';
import {
  ensureEngine,
  type EngineHandle,
  type EngineSpec,
  stopEngine,
} from '../../../../engines/embedded/supervisor/supervisor.js';
import { MAX_FAILURE_MESSAGE_BYTES } from '../../../../shared/contracts/failures.js';
import { entryPath } from '../../../../shared/runtime/entry.js';
import { LAPTOP, temporaryFolder } from '../support.js';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let spec: EngineSpec;
const owners: ChildProcess[] = [];

beforeEach(async () => {
  folder = await temporaryFolder();
  spec = { engineDir: join(folder.path, 'engine'), modelDir: LAPTOP, mode: 'serve', contextLength: 64 };
});
afterEach(async () => {
  for (const owner of owners.splice(0)) owner.kill('SIGKILL');
  await stopEngine(spec.engineDir);
  await folder.remove();
});

/** A worker process of its own that starts (or finds) the engine, says its lease, and does what `then` says. */
async function ownerProcess(then: 'stays' | 'ends'): Promise<{ child: ChildProcess; handle: EngineHandle }> {
  const script = `
    const { ensureEngine } = await import(${JSON.stringify(entryPath('engines/embedded/supervisor/supervisor.js'))});
    const handle = await ensureEngine(${JSON.stringify(spec)});
    console.log(JSON.stringify(handle));
    ${then === 'stays' ? 'setInterval(() => {}, 1000);' : ''}
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  owners.push(child);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, handle: JSON.parse(line) as EngineHandle };
}

async function untilGone(engine: ProcessIdentity): Promise<void> {
  while (isAlive(engine)) await delay(20);
}

async function isServing(handle: EngineHandle): Promise<boolean> {
  return (await fetch(`${handle.endpoint}/health`)).status === 200;
}

describe('the supervisor of embedded engines', () => {
  it('gives all callers of one folder the same engine, also those of other processes', async () => {
    const [a, b] = await Promise.all([ensureEngine(spec), ensureEngine(spec)]);
    expect(a).toEqual(b);
    const { handle } = await ownerProcess('ends');
    expect(handle).toEqual(a);
    expect(await isServing(a)).toBe(true);
  });

  it('starts one engine when several processes ask at once', async () => {
    const handles = await Promise.all([ownerProcess('stays'), ownerProcess('stays'), ownerProcess('stays')]);
    expect(new Set(handles.map(({ handle }) => handle.lease.engine.pid)).size).toBe(1);
    expect(handles[0]!.handle.lease.token).toBe(1);
  });

  it('replaces an engine of another specification or of other model files', async () => {
    const first = await ensureEngine(spec);
    const second = await ensureEngine({ ...spec, contextLength: 65 });
    expect(second.lease.token).toBe(first.lease.token + 1);
    expect(isAlive(first.lease.engine)).toBe(false);
    expect(await isServing(second)).toBe(true);
  });

  it('starts another engine when the old one was killed', async () => {
    const first = await ensureEngine(spec);
    process.kill(first.lease.engine.pid, 'SIGKILL');
    await untilGone(first.lease.engine);
    const second = await ensureEngine(spec);
    expect(second.lease.token).toBe(2);
    expect(await isServing(second)).toBe(true);
  });

  it('replaces an engine that runs but does not answer', async () => {
    const { handle, child } = await ownerProcess('stays');
    // Another process seems to listen there: the lease is right, the port is not.
    const { port: _, ...rest } = handle.lease;
    await writeFile(join(spec.engineDir, 'engine.json'), JSON.stringify({ ...rest, port: 1 }));
    const second = await ensureEngine(spec);
    expect(second.lease.engine.pid).not.toBe(handle.lease.engine.pid);
    expect(await isServing(second)).toBe(true);
    expect(child.exitCode).toBeNull();
  });

  it('ends the engine when its owner is killed', async () => {
    const { child, handle } = await ownerProcess('stays');
    expect(isAlive(handle.lease.engine)).toBe(true);
    child.kill('SIGKILL');
    await untilGone(handle.lease.engine);
    expect(await readFile(join(spec.engineDir, 'engine.log'), 'utf8')).toContain('the owner closed the pipe');
  });

  it('does not keep its owner alive, and goes down with it', async () => {
    const { child, handle } = await ownerProcess('ends');
    if (child.exitCode === null) await once(child, 'exit');
    expect(child.exitCode).toBe(0);
    await untilGone(handle.lease.engine);
  });

  it('stops an engine and gives up the lease, and is content when there is none', async () => {
    const { lease } = await ensureEngine(spec);
    await stopEngine(spec.engineDir);
    expect(isAlive(lease.engine)).toBe(false);
    expect(await readdir(spec.engineDir)).toEqual(['engine.log']);
    await stopEngine(spec.engineDir);
  });

  it('stops the engines of this process only', async () => {
    const mine = await ensureEngine({ ...spec, engineDir: join(folder.path, 'mine') });
    const { handle } = await ownerProcess('stays');
    await stopAllOwned();
    expect(isAlive(mine.lease.engine)).toBe(false);
    expect(await isServing(handle)).toBe(true);
  });

  it('leaves the engine that another process put in the place of its own', async () => {
    const { lease } = await ensureEngine(spec);
    process.kill(lease.engine.pid, 'SIGKILL');
    const { handle } = await ownerProcess('stays');
    expect(handle.lease.token).toBe(lease.token + 1);
    await stopAllOwned();
    expect(await isServing(handle)).toBe(true);
    expect(await readdir(spec.engineDir)).not.toContain('handed-back.json');
  });

  it('takes over the lock and the lease of a process that is gone', async () => {
    const { child } = await ownerProcess('ends');
    if (child.exitCode === null) await once(child, 'exit');
    const dead = { host: hostname(), pid: child.pid as number, start: 1 };
    await writeFile(join(spec.engineDir, 'engine.lock'), JSON.stringify(dead));
    expect(await isServing(await ensureEngine(spec))).toBe(true);
    expect((await readdir(spec.engineDir)).sort()).toEqual(['engine.json', 'engine.log']);
  });

  it('takes over a lock file that holds nothing', async () => {
    await mkdir(spec.engineDir, { recursive: true });
    await writeFile(join(spec.engineDir, 'engine.lock'), '');
    expect(await isServing(await ensureEngine(spec))).toBe(true);
  });

  it('never touches the engine of another host, and says what to do', async () => {
    await mkdir(spec.engineDir, { recursive: true });
    const lease = { host: 'elsewhere', engine: identify(process.pid), owner: identify(process.pid), port: 1, token: 4 };
    await writeFile(join(spec.engineDir, 'engine.json'), JSON.stringify({ ...lease, specHash: '' }));
    await expect(ensureEngine(spec)).rejects.toMatchObject({
      type: 'EngineUnavailable',
      message: expect.stringContaining('on host elsewhere') as string,
      details: { cure: expect.stringContaining('engine.json') as string },
    });
    await stopEngine(spec.engineDir);
    expect((await readLease(spec.engineDir))?.host).toBe('elsewhere');
    await writeFile(join(spec.engineDir, 'engine.json'), '{}');
  });

  it('passes on why an engine cannot start, and names its log', async () => {
    await expect(ensureEngine({ ...spec, modelDir: join(folder.path, 'missing') })).rejects.toMatchObject({
      type: 'CheckpointInvalid',
      message: expect.stringContaining('missing/config.json') as string,
      details: { where: join(spec.engineDir, 'engine.log') },
    });
    await expect(ensureEngine({ ...spec, modelDir: 'relative' })).rejects.toMatchObject({ type: 'RecipeInvalid' });
    expect(await readdir(spec.engineDir)).toEqual(['engine.log']);
  });

  it('keeps 10 MB of an engine’s standard error in its log, and the message short', async () => {
    const noisy = 'process.stderr.write("x".repeat(10_000_000)); process.exit(3);';
    process.env['NODE_OPTIONS'] = `--import=data:text/javascript,${encodeURIComponent(noisy)}`;
    const failure = await ensureEngine(spec)
      .then(
        () => undefined,
        (error: Error) => error
      )
      .finally(() => delete process.env['NODE_OPTIONS']);
    expect(failure).toMatchObject({
      type: 'EngineUnavailable',
      details: { where: join(spec.engineDir, 'engine.log') },
    });
    expect(failure?.message).toMatch(/ended at start \(exit code 3\); its log is .*engine\.log$/);
    expect(Buffer.byteLength(failure?.message ?? '')).toBeLessThan(MAX_FAILURE_MESSAGE_BYTES);
    expect((await stat(join(spec.engineDir, 'engine.log'))).size).toBeGreaterThanOrEqual(10_000_000);
  });

  it('replaces an engine that was well before and is frozen now', async () => {
    const first = await ensureEngine(spec);
    process.kill(first.lease.engine.pid, 'SIGSTOP');
    const second = await ensureEngine(spec);
    expect(second.lease.token).toBe(first.lease.token + 1);
    expect(isAlive(first.lease.engine)).toBe(false);
  });

  it('gives up when it is told to, and leaves no engine behind', async () => {
    const controller = new AbortController();
    const starting = ensureEngine(spec, controller.signal);
    setTimeout(() => controller.abort(new Error('cancelled')), 30);
    await expect(starting).rejects.toThrow('cancelled');
    expect(await readLease(spec.engineDir)).toBeUndefined();
  });
});
