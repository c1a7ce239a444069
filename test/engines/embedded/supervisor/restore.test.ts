import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EmbeddedActorClient, type TrainCall } from '../../../../engines/embedded/client/actor-client.js';
import { isAlive } from '../../../../shared/runtime/process-identity.js';
import { restoreTo, type RestoreTarget } from '../../../../engines/embedded/supervisor/restore.js';
import { ensureEngine } from '../../../../engines/embedded/supervisor/supervisor.js';
import { HYPER, type RunningEngine, startTestEngine, stateHashes, trainOnce } from '../support.js';

let engine: RunningEngine;
let calls: TrainCall[];
let replayed: number[];
/** State after 3 and 4 steps of a run that was never disturbed. */
let straight: Record<'three' | 'four', Record<string, string>>;

beforeEach(async () => {
  engine = await startTestEngine({ mode: 'actor', contextLength: 128 });
  calls = [];
  replayed = [];
  for (let step = 0; step < 3; step += 1) {
    calls.push(await trainOnce(engine, step));
    if (step === 1) await engine.client.saveCheckpoint({ dir: checkpoint(1) });
  }
  const three = await stateHashes(engine, 'three');
  calls.push(await trainOnce(engine, 3));
  straight = { three, four: await stateHashes(engine, 'four') };
});
afterEach(() => engine.stop());

function checkpoint(step: number): string {
  return join(engine.folder, 'checkpoints', `iter_${String(step).padStart(7, '0')}`);
}

function target(version: number): RestoreTarget {
  return {
    version,
    checkpointsDir: join(engine.folder, 'checkpoints'),
    rows: (step) => Promise.resolve(calls[step]!.rows),
    hyper: HYPER,
    onReplay: (step) => replayed.push(step),
  };
}

/** Kills the engine and starts another, which knows nothing but the base. */
async function loseEngine(): Promise<void> {
  process.kill(engine.lease.engine.pid, 'SIGKILL');
  while (isAlive(engine.lease.engine)) await delay(20);
  const { stop, ...rest } = engine;
  const handle = await ensureEngine(engine.spec);
  await engine.client.close();
  engine = { ...rest, ...handle, client: new EmbeddedActorClient(handle.endpoint), stop };
}

describe('restoring an actor', () => {
  it('replays the saved rows from the newest checkpoint, to the same bits', async () => {
    await loseEngine();
    expect(await restoreTo(engine.client, target(4))).toBe(2);
    expect(replayed).toEqual([2, 3]);
    expect(await stateHashes(engine, 'restored')).toEqual(straight.four);
  });

  it('goes back when the actor is ahead: from the checkpoint, or from the base when none is old enough', async () => {
    expect(await restoreTo(engine.client, target(3))).toBe(1);
    expect(await stateHashes(engine, 'back')).toEqual(straight.three);
    expect(await restoreTo(engine.client, target(1))).toBe(1);
    expect(replayed).toEqual([2, 0]);
    expect(await restoreTo(engine.client, target(4))).toBe(2);
    expect(await stateHashes(engine, 'forth')).toEqual(straight.four);
  });

  it('does nothing when the version is right', async () => {
    expect(await restoreTo(engine.client, target(4))).toBe(0);
    expect(replayed).toEqual([]);
  });

  it('sets a torn checkpoint aside with its reason, and starts from the base', async () => {
    const path = join(checkpoint(1), 'model.safetensors');
    await writeFile(path, (await readFile(path)).subarray(0, 1000));
    await loseEngine();
    expect(await restoreTo(engine.client, target(4))).toBe(4);
    expect(await stateHashes(engine, 'from base')).toEqual(straight.four);
    const [aside] = await readdir(join(engine.folder, 'checkpoints'));
    expect(aside).toMatch(/^\.quarantine-iter_0000001-/);
    const reason = await readFile(join(engine.folder, 'checkpoints', aside!, 'reason.txt'), 'utf8');
    expect(reason).toContain('model.safetensors has 1000 bytes');
  });

  it('says that the engine is not there when it dies on the way', async () => {
    const { pid } = engine.lease.engine;
    const dying = { ...target(1), onReplay: () => process.kill(pid, 'SIGKILL') };
    await expect(restoreTo(engine.client, dying)).rejects.toMatchObject({ type: 'EngineUnavailable' });
  });
});
