import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from './atomic-file.js';

/** What a stage of a run depended on, and where its result came from: `<run>/.keys/<stage>.json`. */
export interface StageKey {
  /** `data`, `smoke:<arm>`, `train:<arm>`, `evaluate:<model>/<data set>`. */
  stage: string;
  /** SHA-256 (hex) of the parts. */
  key: string;
  /** Everything the stage's result depends on, by name. */
  parts: Record<string, unknown>;
  /** Run whose equal result was taken over; absent when this run makes or made it. */
  reusedFrom?: string;
}

const KEYS_FOLDER = '.keys';
const FORCED_FILE = '.forced.json';

function fileOf(stage: string): string {
  return `${stage.replaceAll(/[^A-Za-z0-9._-]/g, '-')}.json`;
}

/** @throws PipelineError `StorageFailed` */
export async function writeStageKey(runDirectory: string, record: StageKey): Promise<void> {
  await writeFileAtomic(join(runDirectory, KEYS_FOLDER, fileOf(record.stage)), `${JSON.stringify(record, null, 2)}\n`);
}

/** Keys of all stages that a run has come to, sorted by stage; empty when it has come to none. */
export async function readStageKeys(runDirectory: string): Promise<StageKey[]> {
  const folder = join(runDirectory, KEYS_FOLDER);
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const files = names.filter((name) => name.endsWith('.json')).sort();
  return await Promise.all(
    files.map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8')) as StageKey)
  );
}

/** Says before a run starts which of its stages are made anew although an equal result may be there. */
export async function writeForcedStages(runDirectory: string, stages: readonly string[]): Promise<void> {
  await writeFileAtomic(join(runDirectory, FORCED_FILE), `${JSON.stringify(stages)}\n`);
}

/** Whether a stage is to be made anew: its name, or its kind (`train` for every `train:<arm>`), was given. */
export async function isForced(runDirectory: string, stage: string): Promise<boolean> {
  const text = await readFile(join(runDirectory, FORCED_FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '[]';
    throw error;
  });
  const kind = stage.split(':')[0];
  return (JSON.parse(text) as string[]).some((forced) => forced === stage || forced === kind);
}
