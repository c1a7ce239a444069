import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { storageError, writeFileAtomic } from '../../../shared/artifacts/atomic-file.js';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { verifyCheckpoint } from '../actor/checkpoint.js';
import type { EmbeddedActorClient, TrainHyper } from '../client/actor-client.js';

export interface RestoreTarget {
  /** Weights version wanted: number of updates applied. */
  version: number;
  /** Folder of the checkpoints. */
  checkpointsDir: string;
  /** Rows that were trained at a step. */
  rows(step: number): Promise<{ path: string; sha256: string }>;
  hyper: TrainHyper;
  signal?: AbortSignal;
  onReplay?(step: number): void;
}

interface Checkpoint {
  dir: string;
  version: number;
}

/**
 * Brings an actor to a weights version: from where it is when it is behind, else from the newest complete checkpoint at or
 * below the version, else from the base; then trains the saved rows of the remaining steps again. The embedded engine is
 * deterministic, so the result has the same bits as if nothing had been lost.
 *
 * @returns steps that were replayed
 * @throws PipelineError EngineUnavailable, CheckpointInvalid, StorageFailed
 */
export async function restoreTo(client: EmbeddedActorClient, target: RestoreTarget): Promise<number> {
  const options = target.signal === undefined ? {} : { signal: target.signal };
  let { weights_version: held } = await client.state(options);
  if (held === target.version) return 0;
  const checkpoint = await newestCheckpoint(target.checkpointsDir, target.version);
  if (checkpoint !== undefined && (held > target.version || held < checkpoint.version))
    held = (await client.loadCheckpoint({ dir: checkpoint.dir }, options)).weights_version;
  else if (held > target.version) held = (await client.reset(options)).weights_version;
  for (let step = held; step < target.version; step += 1) {
    target.onReplay?.(step);
    await client.trainStep(
      { step, expected_weights_version: step, rows: await target.rows(step), hyper: target.hyper },
      options
    );
  }
  return target.version - held;
}

/** Newest complete checkpoint at or below a version. A torn or foreign one is set aside, with its reason beside it. */
async function newestCheckpoint(folder: string, version: number): Promise<Checkpoint | undefined> {
  // Folders of unfinished saves and those set aside have a dot in their name.
  const names = (await listFolders(folder)).filter((name) => !name.includes('.'));
  let newest: Checkpoint | undefined;
  for (const name of names) {
    const dir = join(folder, name);
    const found = await versionOf(dir, folder, name);
    if (found !== undefined && found <= version && found > (newest?.version ?? -1)) newest = { dir, version: found };
  }
  return newest;
}

async function listFolders(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw storageError(folder, error);
  }
}

async function versionOf(dir: string, folder: string, name: string): Promise<number | undefined> {
  try {
    return await verifyCheckpoint(dir);
  } catch (error) {
    if (!(error instanceof PipelineError) || error.type !== 'CheckpointInvalid') throw error;
    await quarantine(dir, join(folder, `.quarantine-${name}-${Date.now()}`), error.message);
    return undefined;
  }
}

async function quarantine(from: string, to: string, reason: string): Promise<void> {
  try {
    await rename(from, to);
    await writeFileAtomic(join(to, 'reason.txt'), `${reason}\n`);
  } catch (error) {
    throw storageError(to, error);
  }
}
