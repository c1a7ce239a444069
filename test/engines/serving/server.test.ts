import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { untilReleased } from '../../../engines/serving/gpu-release.js';
import { boundLog } from '../../../engines/serving/log-limit.js';
import { ensureServer, stopServer } from '../../../engines/serving/server.js';
import type { EngineHandle } from '../../../engines/supervision/leased-process.js';
import type { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { entryPath } from '../../../shared/runtime/entry.js';
import { isPortFree } from '../../../shared/runtime/ports.js';
import { groupMembers } from '../../../shared/runtime/process-group.js';
import { isAlive } from '../../../shared/runtime/process-identity.js';
import { temporaryFolder } from '../embedded/support.js';
import { until } from '../../workflows/support.js';
import { fakeSpec, type FakeMode } from './support.js';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await stopServer(join(folder.path, 'server'));
  await folder.remove();
});

const log = (): Promise<string> => readFile(join(folder.path, 'server/engine.log'), 'utf8');

async function failure(mode: FakeMode, changes: Parameters<typeof fakeSpec>[2] = {}): Promise<PipelineError> {
  const error: unknown = await ensureServer(fakeSpec(folder.path, mode, changes)).catch((reason: unknown) => reason);
  return error as PipelineError;
}

/** The server is gone with everything it started. */
async function expectNothingLeft({ lease }: EngineHandle): Promise<void> {
  expect(await groupMembers(lease.engine.pid)).toEqual([]);
  expect(await isPortFree(lease.port)).toBe(true);
}

describe('an inference server that is started', () => {
  it('gets model, context, address and the recipe’s own arguments, and none of the worker’s credentials', async () => {
    process.env['TEMPORAL_API_KEY'] = 'secret';
    try {
      const spec = fakeSpec(folder.path, 'ready', { args: ['--dtype', 'float32'], env: { FLAG: 'on' } });
      const { endpoint, lease } = await ensureServer(spec);
      expect((await fetch(`${endpoint}/health`)).status).toBe(200);
      const said = await log();
      expect(said).toContain(
        JSON.stringify(['--model-path', spec.modelDir, '--host', '127.0.0.1', '--port', String(lease.port)]).slice(
          1,
          -1
        )
      );
      expect(said).toContain('"--context-length","128","--dtype","float32"]');
      expect(said).toContain('temporal none, flag on');
    } finally {
      delete process.env['TEMPORAL_API_KEY'];
    }
  });

  it('is shared by all who ask for the same, replaced for other arguments, and stopped with nothing left', async () => {
    const spec = fakeSpec(folder.path, 'ready', { kind: 'vllm' });
    const [first, same] = await Promise.all([ensureServer(spec), ensureServer(spec)]);
    expect(same).toEqual(first);
    expect(await log()).toContain(`["serve",${JSON.stringify(spec.modelDir)},"--host","127.0.0.1"`);
    const other = await ensureServer({ ...spec, args: ['--enforce-eager'] });
    expect(other.lease.token).toBe(2);
    expect(isAlive(first.lease.engine)).toBe(false);
    expect(await readFile(join(spec.folder, 'engine.log.1'), 'utf8')).toContain('listening on');
    await stopServer(spec.folder);
    await expectNothingLeft(other);
    await stopServer(spec.folder);
  });

  it('that dies early is reported with the end of its log', async () => {
    const error = await failure('dies');
    expect(error).toMatchObject({ type: 'EngineUnavailable' });
    expect(error.message).toMatch(/^sglang ended with exit code 3 \d+ s after its start; its log is .*engine\.log/);
    expect(error.message).toContain('ValueError: rope_scaling is of a kind that is not known');
  });

  it.each([
    ['oom', 'the device has too little memory'],
    ['host-oom', 'the host has too little memory'],
  ] as const)('that runs out of memory (%s) is told apart', async (mode, text) => {
    const error = await failure(mode);
    expect(error.type).toBe('OutOfMemory');
    expect(error.message).toContain(text);
    expect(error.details.cure).toContain('serving.args');
  });

  it('that somebody kills is not taken for want of memory where the kernel says so', async ({ skip }) => {
    if (!(await readFile('/proc/vmstat', 'utf8').catch(() => '')).includes('oom_kill'))
      skip('the kernel does not count');
    expect(await failure('killed')).toMatchObject({ type: 'EngineUnavailable' });
  });

  it('that is not there is named, with what to do', async () => {
    const error = await failure('ready', { command: [join(folder.path, 'no-such-server')] });
    expect(error.type).toBe('EngineUnavailable');
    expect(error.details.cure).toMatch(
      /^Install .*no-such-server on this worker, or name the program in serving.command/
    );
  });

  it('that never gets ready is given up after its time, and stopped', async () => {
    const error = await failure('deaf', { startSeconds: 1 });
    expect(error.type).toBe('EngineUnavailable');
    expect(error.message).toMatch(/did not answer within \d+ s/);
    expect(error.details.cure).toContain('serving.startSeconds');
    const port = Number(/listening on (\d+)/.exec(await log())?.[1]);
    expect(await isPortFree(port)).toBe(true);
  });

  it('is stopped when the start is given up', async () => {
    const stop = new AbortController();
    const starting = ensureServer(fakeSpec(folder.path, 'deaf'), stop.signal);
    starting.catch(() => undefined);
    await until(async () => (await log().catch(() => '')).includes('listening on'), 'it listens');
    stop.abort(new Error('cancelled'));
    await expect(starting).rejects.toThrow('cancelled');
    const port = Number(/listening on (\d+)/.exec(await log())?.[1]);
    expect(await isPortFree(port)).toBe(true);
  });

  it('that ignores SIGTERM is killed with its children', async () => {
    const handle = await ensureServer(fakeSpec(folder.path, 'stubborn'));
    expect((await groupMembers(handle.lease.engine.pid)).length).toBeGreaterThan(2);
    // What a worker with less patience would find: the time to end well is part of the lease. Long enough to be heard on a busy host.
    const lease = join(folder.path, 'server/engine.json');
    await writeFile(lease, JSON.stringify({ ...handle.lease, graceMs: 3_000 }));
    await stopServer(join(folder.path, 'server'));
    expect(await log()).toContain('SIGTERM is ignored');
    await expectNothingLeft(handle);
  });

  it('goes down with its owner, and its lease is taken over', async () => {
    const spec = fakeSpec(folder.path, 'ready');
    const script = `
      const { ensureServer } = await import(${JSON.stringify(entryPath('engines/serving/server.js'))});
      console.log(JSON.stringify(await ensureServer(${JSON.stringify(spec)})));
      setInterval(() => undefined, 1000);`;
    const owner = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface({ input: owner.stdout }), 'line')) as [string];
    const first = JSON.parse(line) as EngineHandle;
    owner.kill('SIGKILL');
    await until(async () => (await groupMembers(first.lease.engine.pid)).length === 0, 'the server is gone');
    expect((await ensureServer(spec)).lease.token).toBe(2);
  });
});

describe('the log of a server', () => {
  it('is kept bounded while the program goes on writing', async () => {
    const path = join(folder.path, 'program.log');
    await writeFile(path, 'x'.repeat(2_000));
    const end = boundLog(path, 1_000, 10);
    await until(async () => (await readFile(path, 'utf8')) === '', 'the log begins anew');
    end();
    expect((await readFile(`${path}.1`, 'utf8')).length).toBe(2_000);
  });
});

describe('the memory of GPUs', () => {
  it('is waited for until the driver lists the processes no more, and those that stay are named', async () => {
    const bin = join(folder.path, 'bin');
    await mkdir(bin);
    const count = join(folder.path, 'count');
    await writeFile(
      join(bin, 'nvidia-smi'),
      `#!/bin/sh\necho x >> ${count}\n[ "$(wc -l < ${count})" -gt 2 ] || echo 4711\necho 4712\n`
    );
    await chmod(join(bin, 'nvidia-smi'), 0o755);
    const before = process.env['PATH'];
    process.env['PATH'] = `${bin}:${before}`;
    try {
      expect(await untilReleased([4711], 30_000)).toEqual([]);
      expect((await readFile(count, 'utf8')).split('\n').length - 1).toBe(3);
      expect(await untilReleased([4712], 0)).toEqual([4712]);
    } finally {
      process.env['PATH'] = before;
    }
  });
});
