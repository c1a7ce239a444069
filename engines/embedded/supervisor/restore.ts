import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { PipelineError } from '../../../shared/contracts/pipeline-error.js';
import { verifyCheckpoint } from '../actor/checkpoint.js';
import type { EmbeddedActorClient, TrainHyper } from '../client/actor-client.js';

export interface RestoreTarget {
  /** Weights version wanted: number of updates applied. */
  version: number;
  /** Folder with `iter_NNNNNNN` checkpoints. */
  checkpointsDir: string;
  /** Rows that were trained at a step. */
  rows(step: number): Promise<{ path: string; sha256: string }>;
  hyper: TrainHyper;
  signal?: AbortSignal;
  onReplay?(step: number): void;
}

/**
 * Brings an actor to a weights version: from where it is when it is behind, else from the newest complete checkpoint at or
 * below the version, else from the base; then trains the saved rows of the remaining steps again. The embedded engine is
 * deterministic, so the result has the same bits as if nothing had been lost.
 *
 * @returns steps that were replayed
 * @throws PipelineError EngineUnavailable, CheckpointInvalid
 */
export async function restoreTo(client: EmbeddedActorClient, target: RestoreTarget): Promise<number> {
  const options = target.signal === undefined ? {} : { signal: target.signal };
  let { weights_version: held } = await client.state(options);
  if (held === target.version) return 0;
  const checkpoint = await newestCheckpoint(target.checkpointsDir, target.version);
  if (checkpoint !== undefined && (held > target.version || held < checkpoint.version)) {
    held = (await client.loadCheckpoint({ dir: checkpoint.dir }, options)).weights_version;
  }
  if (held > target.version) {
    throw new PipelineError(
      'EngineUnavailable',
      `the actor holds weights version ${held}, version ${target.version} is wanted, and no checkpoint at or below it exists`
    );
  }
  for (let step = held; step < target.version; step += 1) {
    target.onReplay?.(step);
    await client.trainStep(
      { step, expected_weights_version: step, rows: await target.rows(step), hyper: target.hyper },
      options
    );
  }
  return target.version - held;
}

/** Newest complete checkpoint at or below a version. A torn or foreign one is set aside with its reason in the name. */
async function newestCheckpoint(
  folder: string,
  version: number
): Promise<{ dir: string; version: number } | undefined> {
  const names = await readdir(folder).catch((): string[] => []);
  const candidates = names
    .filter((name) => /^iter_\d{7}$/.test(name))
    .sort()
    .reverse();
  for (const name of candidates) {
    const dir = join(folder, name);
    try {
      const { weightsVersion } = await verifyCheckpoint(dir);
      if (weightsVersion <= version) return { dir, version: weightsVersion };
    } catch (error) {
      if (!(error instanceof PipelineError) || error.type !== 'CheckpointInvalid') throw error;
      await rename(dir, join(folder, `.quarantine-${name}-${Date.now()}`));
    }
  }
  return undefined;
}
