import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CancelledFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createActivities } from '../../activities/index.js';
import type { ResolveResult } from '../../shared/contracts/activities.js';
import { entryPath, packageRoot } from '../../shared/runtime/entry.js';
import { quiet } from '../e2e/support.js';
import { LAPTOP, temporaryFolder } from '../engines/embedded/support.js';
import { HubServer, REVISION } from '../shared/data/hub-server.js';
import { jobRecipe } from '../workflows/job-books.js';
import { until } from '../workflows/support.js';

const WEIGHTS = 'model.safetensors';
const HELD_AFTER = 100_000;

let home: Awaited<ReturnType<typeof temporaryFolder>>;
let hub: HubServer;
let id: string;
let weights: Buffer;
let partial: string;
beforeEach(async ({ task }) => {
  home = await temporaryFolder();
  // A process remembers the models that it has checked.
  id = `test/model-${task.id}`;
  const names = (await readdir(LAPTOP)).filter((name) => name !== 'README.md').sort();
  const files = await Promise.all(
    names.map(async (name) => [name, { bytes: await readFile(join(LAPTOP, name)), lfs: name === WEIGHTS }] as const)
  );
  hub = await new HubServer({ type: 'models', id }, Object.fromEntries(files)).start();
  weights = await readFile(join(LAPTOP, WEIGHTS));
  partial = join(home.path, 'hub', `models--${id.replace('/', '--')}`, REVISION, `${WEIGHTS}.incomplete`);
  vi.stubEnv('MEMAGENT_HOME', home.path);
  vi.stubEnv('HF_ENDPOINT', hub.endpoint);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await hub.stop();
  await home.remove();
});

const activities = createActivities({ log: quiet, projectRoot: packageRoot() });
const recipe = (): object => ({
  ...jobRecipe({ model: { id, revision: REVISION } }),
  artifacts: join(home.path, 'runs'),
});

function resolve(environment: MockActivityEnvironment): Promise<ResolveResult> {
  return environment.run(activities.data.resolveRecipe, { pipelineId: 'p-1', recipe: recipe() });
}

async function arrived(bytes: number): Promise<void> {
  const size = (): Promise<number> =>
    stat(partial).then(
      (facts) => facts.size,
      () => 0
    );
  await until(async () => (await size()) >= bytes, `${bytes} bytes have arrived`);
}

function rangesOf(file: string): (string | undefined)[] {
  return hub.seen.filter(({ host, url }) => host === 'cdn' && url.includes(file)).map(({ range }) => range);
}

describe('a recipe whose model is not on this machine yet', () => {
  it('goes on with what a worker that was killed in the middle has downloaded, also after a cut', async () => {
    hub.faults.holdAfter.push(HELD_AFTER);
    const script = `const { modelFolder } = await import(${JSON.stringify(entryPath('activities/model-folder.js'))});
      await modelFolder({ model: ${JSON.stringify({ id, revision: REVISION })} }, '/');`;
    const worker = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
    const gone = once(worker, 'exit');
    try {
      await arrived(HELD_AFTER);
    } finally {
      worker.kill('SIGKILL');
      await gone;
    }
    hub.faults.cutAfter.push(HELD_AFTER);
    const { runDirectory } = await resolve(new MockActivityEnvironment());
    expect(rangesOf(WEIGHTS)).toEqual([undefined, `bytes=${HELD_AFTER}-`, `bytes=${2 * HELD_AFTER}-`]);
    const { files } = JSON.parse(await readFile(join(runDirectory, 'model.json'), 'utf8')) as {
      files: { name: string; bytes: number }[];
    };
    expect(files).toContainEqual(expect.objectContaining({ name: WEIGHTS, bytes: weights.byteLength }));
  });

  it('says in its heartbeats how many bytes and files are there', async () => {
    hub.faults.holdAfter.push(HELD_AFTER);
    const environment = new MockActivityEnvironment({ heartbeatTimeoutMs: 60 });
    const beats: Record<string, unknown>[] = [];
    environment.on('heartbeat', (details: Record<string, unknown>) => beats.push(details));
    const running = resolve(environment);
    const told = (): Record<string, unknown> | undefined => beats.find(({ file }) => file === WEIGHTS);
    await until(() => told() !== undefined, 'a heartbeat tells of the weights');
    environment.cancel('CANCELLED');
    await expect(running).rejects.toBeInstanceOf(CancelledFailure);
    const before = (await readdir(LAPTOP)).filter((name) => name !== 'README.md' && name < WEIGHTS);
    const sizes = await Promise.all(before.map(async (name) => (await stat(join(LAPTOP, name))).size));
    const beat = told();
    const done = Number(beat?.['done']);
    expect(done).toBeGreaterThan(0);
    expect(done).toBeLessThanOrEqual(HELD_AFTER);
    expect(beat).toMatchObject({
      phase: 'download',
      fileNumber: before.length + 1,
      files: 5,
      total: weights.byteLength,
      doneInAll: sizes.reduce((sum, size) => sum + size, done),
    });
  });

  it('ends at once when it is cancelled while another run downloads the same model', async () => {
    hub.faults.holdAfter.push(HELD_AFTER);
    const first = new MockActivityEnvironment();
    const downloading = resolve(first);
    await arrived(HELD_AFTER);
    const second = new MockActivityEnvironment();
    const listings = (): number => hub.seen.filter(({ url }) => url.includes('/tree/')).length;
    const waiting = resolve(second);
    await until(() => listings() === 2, 'the second run knows the files');
    second.cancel('CANCELLED');
    await expect(waiting).rejects.toBeInstanceOf(CancelledFailure);
    first.cancel('CANCELLED');
    await expect(downloading).rejects.toBeInstanceOf(CancelledFailure);
  });
});
