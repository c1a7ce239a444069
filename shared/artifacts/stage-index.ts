import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArtifactRef } from '../contracts/artifact.js';
import { PipelineError } from '../contracts/pipeline-error.js';
import { storageError, writeFileAtomic } from './atomic-file.js';
import { STAGES_FOLDER } from './run-paths.js';
import type { Sidecar } from './sidecar.js';

/** A finished stage, found by the hash of everything its result depends on. */
export interface StageRecord {
  /** SHA-256 (hex) of the key parts. */
  key: string;
  /** Name of the stage, for people. */
  stage: string;
  /** Run that did the work. */
  pipelineId: string;
  /** What the key was made of, so that a person can see which part differs. */
  parts: Record<string, unknown>;
  outputs: ArtifactRef[];
  /** What the stage's activity returned, where files alone do not say it. */
  facts?: unknown;
}

/** An output with everything that is needed to publish it again in another run. */
export type StageOutput = Sidecar;

type StoredStage = Omit<StageRecord, 'outputs'> & { outputs: StageOutput[] };

function stagePath(root: string, key: string): string {
  if (!/^[0-9a-f]{64}$/.test(key)) {
    throw new PipelineError('StorageFailed', `${JSON.stringify(key)} is not a stage key (a SHA-256 in hexadecimal).`);
  }
  return join(root, STAGES_FOLDER, `${key}.json`);
}

export async function writeStage(root: string, stage: StoredStage): Promise<void> {
  await writeFileAtomic(stagePath(root, stage.key), `${JSON.stringify(stage, null, 2)}\n`);
}

export async function removeStage(root: string, key: string): Promise<void> {
  const path = stagePath(root, key);
  await rm(path, { force: true }).catch((error: unknown) => {
    throw storageError(path, error);
  });
}

/** The stage of a key; undefined when there is none or its record is not whole. */
export async function readStage(root: string, key: string): Promise<StoredStage | undefined> {
  const path = stagePath(root, key);
  let stage: Partial<StoredStage> | null;
  try {
    stage = JSON.parse(await readFile(path, 'utf8')) as Partial<StoredStage> | null;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const whole = stage?.key === key && typeof stage.pipelineId === 'string' && Array.isArray(stage.outputs);
  return whole ? (stage as StoredStage) : undefined;
}
