import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PipelineError } from '../contracts/pipeline-error.js';
import { toFloat32 } from './convert.js';
import { FLOAT_BYTES, isFloatType, type Tensor, type TensorEntry } from './types.js';

/** Longest header accepted, bytes (the format's own limit). */
const MAX_HEADER = 100_000_000;

function invalid(path: string, problem: string): PipelineError {
  return new PipelineError('CheckpointInvalid', `${path}: ${problem}. Download or save the file again.`, {
    where: path,
    problems: [problem],
  });
}

/**
 * Decodes a safetensors file: 8 bytes header length (little-endian), a JSON header, then the tensors without gaps.
 *
 * @param path only for messages
 * @throws PipelineError CheckpointInvalid when the file is torn or of another form
 */
export function decodeSafetensors(bytes: Uint8Array, path: string): Tensor[] {
  if (bytes.byteLength < 8) throw invalid(path, `${bytes.byteLength} bytes are too few for a safetensors file`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = Number(view.getBigUint64(0, true));
  if (length > MAX_HEADER || 8 + length > bytes.byteLength)
    throw invalid(path, `the header of ${length} bytes does not fit the file of ${bytes.byteLength} bytes`);
  const data = bytes.subarray(8 + length);
  const entries = parseHeader(bytes.subarray(8, 8 + length), path);
  const sorted = [...entries].sort(([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0]);
  let end = 0;
  for (const [name, entry] of sorted) end = checkEntry(path, name, entry, end);
  if (end !== data.byteLength)
    throw invalid(
      path,
      `the tensors end at byte ${end} of ${data.byteLength} bytes of data: the file is torn or padded`
    );
  return entries.map(
    ([
      name,
      {
        dtype,
        shape,
        data_offsets: [from, to],
      },
    ]) => {
      return { name, shape, data: toFloat32(data.subarray(from, to), dtype as keyof typeof FLOAT_BYTES) };
    }
  );
}

function parseHeader(bytes: Uint8Array, path: string): [string, TensorEntry][] {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw invalid(path, 'the header is not JSON');
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header))
    throw invalid(path, 'the header is not a JSON object');
  return Object.entries(header as Record<string, TensorEntry>).filter(([name]) => name !== '__metadata__');
}

/** Checks one entry that must begin at `start`; returns where it ends. */
function checkEntry(path: string, name: string, entry: TensorEntry, start: number): number {
  const { dtype, shape, data_offsets: offsets } = entry;
  if (!isFloatType(dtype)) throw invalid(path, `${name} has type ${String(dtype)}; F32, F16 and BF16 are understood`);
  const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
  if (!Array.isArray(shape) || !shape.every(isCount)) throw invalid(path, `${name} has no valid shape`);
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount))
    throw invalid(path, `${name} has no valid data_offsets`);
  const bytes = shape.reduce((a, b) => a * b, 1) * FLOAT_BYTES[dtype];
  if (offsets[0] !== start || offsets[1] !== start + bytes)
    throw invalid(path, `${name} lies at ${offsets.join(' to ')}, expected ${start} to ${start + bytes}`);
  return start + bytes;
}

/**
 * Reads all tensors of one safetensors file.
 *
 * @throws PipelineError CheckpointInvalid when it is missing or torn
 */
export async function readSafetensors(path: string): Promise<Tensor[]> {
  const bytes = await readOptional(path);
  if (bytes === null) throw invalid(path, 'the file is missing');
  return decodeSafetensors(bytes, path);
}

/**
 * Reads all tensors of a checkpoint folder: `model.safetensors`, or the shards named by `model.safetensors.index.json`.
 *
 * @throws PipelineError CheckpointInvalid for a missing, torn or inconsistent file
 */
export async function readSafetensorsFolder(folder: string): Promise<Tensor[]> {
  const indexPath = join(folder, 'model.safetensors.index.json');
  const index = await readOptional(indexPath);
  if (index === null) return readSafetensors(join(folder, 'model.safetensors'));
  const weightMap = parseIndex(index, indexPath);
  const tensors: Tensor[] = [];
  for (const shard of [...new Set(weightMap.values())].sort()) {
    const path = join(folder, shard);
    const bytes = await readOptional(path);
    if (bytes === null) throw invalid(path, 'the shard named in the index is missing');
    tensors.push(...decodeSafetensors(bytes, path).filter(({ name }) => weightMap.get(name) === shard));
  }
  const found = new Set(tensors.map(({ name }) => name));
  const missing = [...weightMap.keys()].filter((name) => !found.has(name));
  if (missing.length > 0) throw invalid(indexPath, `tensors of the index are in no shard: ${missing.join(', ')}`);
  return tensors;
}

function parseIndex(bytes: Uint8Array, path: string): Map<string, string> {
  let map: unknown;
  try {
    map = (JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>)['weight_map'];
  } catch {
    throw invalid(path, 'the index is not JSON');
  }
  if (typeof map !== 'object' || map === null) throw invalid(path, 'the index has no weight_map');
  const entries = Object.entries(map as Record<string, unknown>);
  // A shard is a file of this folder: no path may lead out of it.
  const bad = entries.find(([, file]) => typeof file !== 'string' || /[\\/]/.test(file) || file.startsWith('.'));
  if (bad !== undefined)
    throw invalid(path, `${bad[0]} names the shard ${String(bad[1])}, which is not a plain file name`);
  return new Map(entries as [string, string][]);
}

async function readOptional(path: string): Promise<Uint8Array | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw invalid(path, `cannot be read (${(error as Error).message})`);
  }
}
