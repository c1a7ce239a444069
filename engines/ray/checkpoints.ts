import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckpointSearch, JobCheckpoint } from './types.js';

/** Megatron writes the iteration of the last finished save into it, after everything else. */
export const TRACKER_FILE = 'latest_checkpointed_iteration.txt';

const STEP_FOLDER = /^iter_(\d{7,})$/;
/** Shards of a torch_dist checkpoint; their names stand as plain text in `.metadata`. */
const SHARD = /^__\d+_\d+\.distcp$/;
const NAMED_SHARD = /__\d{1,6}_\d{1,6}\.distcp/g;
/** Longest shard name: what two pieces of a file that is read in pieces must overlap. */
const LONGEST_NAME = 32;

/** Name of a step's folder: `iter_%07d`, named by rollout id from 0. */
export function stepFolder(step: number): string {
  return `iter_${String(step).padStart(7, '0')}`;
}

/**
 * Finds the newest complete checkpoint of a job. Relax and VIME keep Megatron's layout: the tracker file, and an `iter_%07d`
 * folder a checkpoint with `common.pt`, `.metadata` and its shards, none empty; a folder `release` is a converted base model.
 *
 * A checkpoint newer than the tracker says was still being written. Where the framework keeps its place in the data
 * (`rollout/global_dataset_state_dict_<step>.pt`), a checkpoint without it would repeat prompts, and is passed over too.
 *
 * @param dir the job's save folder; may be missing
 * @returns what was passed over comes with the reason, newest first
 */
export async function newestCheckpoint(dir: string): Promise<CheckpointSearch> {
  const tracker = await trackedStep(dir);
  const entries = await readdir(dir).catch(absent);
  const steps = (entries ?? []).flatMap((name) => {
    const step = Number(STEP_FOLDER.exec(name)?.[1] ?? NaN);
    return Number.isSafeInteger(step) ? [{ step, path: join(dir, name) }] : [];
  });
  const skipped: CheckpointSearch['skipped'] = [];
  for (const { step, path } of steps.sort((a, b) => b.step - a.step)) {
    const found = tracker === undefined || step > tracker ? trackerReason(tracker) : await examine(dir, path, step);
    if (typeof found !== 'string') return { newest: found, skipped };
    skipped.push({ path, reason: found });
  }
  return { newest: undefined, skipped };
}

function trackerReason(tracker: number | undefined): string {
  return tracker === undefined
    ? `${TRACKER_FILE} names no step: its save never ended`
    : `newer than step ${tracker}, which ${TRACKER_FILE} names: its save never ended`;
}

/** The step in the tracker file; undefined when there is none, or it says `release`. */
async function trackedStep(dir: string): Promise<number | undefined> {
  const text = await readFile(join(dir, TRACKER_FILE), 'utf8').catch(absent);
  return text !== undefined && /^\d{1,9}$/.test(text.trim()) ? Number(text.trim()) : undefined;
}

/** @returns the checkpoint, or why it cannot be used */
async function examine(dir: string, path: string, step: number): Promise<JobCheckpoint | string> {
  const files = await filesOf(path);
  if (files === undefined) return 'it is no folder';
  const sizes = new Map(files.map((file) => [file.path, file.bytes]));
  for (const name of ['common.pt', '.metadata'])
    if ((sizes.get(name) ?? 0) === 0) return sizes.has(name) ? `${name} is empty` : `${name} is missing`;
  const shards = [...sizes.keys()].filter((name) => SHARD.test(name));
  if (shards.length === 0) return 'it has no shards (*.distcp)';
  const empty = shards.find((name) => sizes.get(name) === 0);
  if (empty !== undefined) return `${empty} is empty`;
  const missing = [...(await namedShards(join(path, '.metadata')))].sort().find((name) => !sizes.has(name));
  if (missing !== undefined) return `${missing} is missing, which .metadata names`;
  if (!(await hasDataState(dir, step)))
    return `rollout/${dataStateFile(step)} is missing: its place in the data is lost`;
  return { step, path, files, bytes: files.reduce((total, { bytes }) => total + bytes, 0) };
}

/** Sorted by path. */
async function filesOf(path: string): Promise<{ path: string; bytes: number }[] | undefined> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(absent);
  if (entries === undefined) return undefined;
  const names = entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  const files = await Promise.all(
    names.map(async (name) => ({ path: name.slice(path.length + 1), bytes: (await stat(name)).size }))
  );
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function namedShards(metadata: string): Promise<Set<string>> {
  const names = new Set<string>();
  let rest = '';
  for await (const piece of createReadStream(metadata, { encoding: 'latin1' }) as AsyncIterable<string>) {
    const text = rest + piece;
    for (const [name] of text.matchAll(NAMED_SHARD)) names.add(name);
    rest = text.slice(-LONGEST_NAME);
  }
  return names;
}

function dataStateFile(step: number): string {
  return `global_dataset_state_dict_${step}.pt`;
}

async function hasDataState(dir: string, step: number): Promise<boolean> {
  const states = await readdir(join(dir, 'rollout')).catch(absent);
  return states === undefined || states.length === 0 || states.includes(dataStateFile(step));
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
  throw error;
}
