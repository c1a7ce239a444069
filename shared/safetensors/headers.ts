import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FLOAT_BYTES, isFloatType, type FloatType, type TensorEntry } from './types.js';

/** Where a tensor lies. */
export interface TensorPlace {
  name: string;
  dtype: FloatType;
  shape: readonly number[];
  /** File that holds it. */
  path: string;
  /** Its first byte in the file, and its size. Unit: bytes. */
  offset: number;
  bytes: number;
}

export interface ModelHeaders {
  /** By name, in the order of the files. */
  tensors: Map<string, TensorPlace>;
  /** Everything that is wrong with files, headers and index, one sentence each. */
  problems: string[];
}

const SINGLE = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';

/** Headers of real models have some hundred KB. Unit: bytes. */
const LONGEST_HEADER = 100_000_000;

/**
 * Reads what tensors a model folder holds, without their values: `model.safetensors`, or the shards that the index names. A file
 * that is torn, a tensor that is nowhere or twice, a shard that no index names: all of it is listed, nothing throws.
 */
export async function readModelHeaders(folder: string): Promise<ModelHeaders> {
  const found: ModelHeaders = { tensors: new Map(), problems: [] };
  const names = await readdir(folder).catch((): string[] => []);
  const index = names.includes(INDEX) ? await readIndex(join(folder, INDEX), found.problems) : undefined;
  const shards = index === undefined ? [SINGLE] : [...new Set(index.values())].sort();
  for (const shard of shards) {
    if (names.includes(shard)) await readFileHeader(join(folder, shard), shard, found);
    else found.problems.push(`${shard} is missing`);
  }
  if (index !== undefined) checkIndex(index, names, shards, found);
  return found;
}

function checkIndex(index: Map<string, string>, names: string[], shards: string[], found: ModelHeaders): void {
  for (const [name, shard] of index) {
    const place = found.tensors.get(name);
    if (place === undefined) found.problems.push(`${name} is in ${INDEX}, but in no shard`);
    else if (!place.path.endsWith(`/${shard}`))
      found.problems.push(`${name} is not in ${shard}, where ${INDEX} has it`);
  }
  for (const name of found.tensors.keys())
    if (!index.has(name)) found.problems.push(`${name} is in a shard, but not in ${INDEX}`);
  for (const name of names)
    if (name.endsWith('.safetensors') && !shards.includes(name))
      found.problems.push(`${name} is not named by ${INDEX}`);
}

async function readIndex(path: string, problems: string[]): Promise<Map<string, string> | undefined> {
  try {
    const { weight_map: map } = JSON.parse(await readFile(path, 'utf8')) as { weight_map?: Record<string, unknown> };
    const entries = Object.entries(map ?? {});
    // A shard is a file of this folder: no path may lead out of it.
    const bad = entries.filter(([, file]) => typeof file !== 'string' || /[\\/]/.test(file) || file.startsWith('.'));
    if (bad.length > 0) problems.push(`${INDEX} names files outside of the folder`);
    if (entries.length === 0) problems.push(`${INDEX} names no tensor`);
    return new Map(entries.filter((entry) => !bad.includes(entry)) as [string, string][]);
  } catch (error) {
    problems.push(`${INDEX} cannot be read: ${(error as Error).message}`);
    return undefined;
  }
}

async function readFileHeader(path: string, file: string, found: ModelHeaders): Promise<void> {
  const problem = (text: string): void => void found.problems.push(`${file}: ${text}`);
  try {
    const handle = await open(path, 'r');
    try {
      const { size } = await handle.stat();
      const start = Buffer.alloc(8);
      await handle.read(start, 0, 8, 0);
      const length = Number(start.readBigUInt64LE());
      if (size < 8 || length > LONGEST_HEADER || 8 + length > size)
        return problem(`a file of ${size} bytes does not hold its header of ${length} bytes`);
      const text = Buffer.alloc(length);
      await handle.read(text, 0, length, 8);
      const end = takeEntries(JSON.parse(text.toString('utf8')) as object, { path, data: 8 + length }, found, problem);
      if (end !== size) problem(`its tensors end at byte ${end}, the file at ${size}: it is torn or padded`);
    } finally {
      await handle.close();
    }
  } catch (error) {
    problem(`cannot be read: ${(error as Error).message}`);
  }
}

/** @returns where the last tensor ends */
function takeEntries(
  header: object,
  file: { path: string; data: number },
  found: ModelHeaders,
  problem: (text: string) => void
): number {
  let end = file.data;
  for (const [name, entry] of Object.entries(header) as [string, Partial<TensorEntry>][]) {
    if (name === '__metadata__') continue;
    const place = placeOf(name, entry, file);
    if (typeof place === 'string') problem(`${name} ${place}`);
    else if (found.tensors.has(name)) problem(`${name} is there twice`);
    else found.tensors.set(name, place);
    if (typeof place !== 'string') end = Math.max(end, place.offset + place.bytes);
  }
  return end;
}

function placeOf(
  name: string,
  { dtype, shape, data_offsets: offsets }: Partial<TensorEntry>,
  file: { path: string; data: number }
): TensorPlace | string {
  if (!isFloatType(dtype)) return `has type ${String(dtype)}; F32, F16 and BF16 are understood`;
  const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
  if (!Array.isArray(shape) || !shape.every(isCount)) return 'has no valid shape';
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) return 'has no valid data_offsets';
  const bytes = shape.reduce((a, b) => a * b, 1) * FLOAT_BYTES[dtype];
  if (offsets[1] - offsets[0] !== bytes) return `takes ${offsets[1] - offsets[0]} bytes, its shape needs ${bytes}`;
  return { name, dtype, shape, path: file.path, offset: file.data + offsets[0], bytes };
}
