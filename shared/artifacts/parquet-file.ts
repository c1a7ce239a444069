import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  asyncBufferFromFile,
  parquetMetadataAsync,
  parquetReadObjects,
  type AsyncBuffer,
  type FileMetaData,
} from 'hyparquet';
import { ByteWriter, ParquetWriter, type ColumnSource, type SchemaElement } from 'hyparquet-writer';
import { PipelineError } from '../contracts/pipeline-error.js';
import { storageError, syncDirectory, temporaryName } from './atomic-file.js';

/** Rows of one row group at most: a reader decodes a whole group even when it wants one row. */
export const ROW_GROUP_ROWS = 10_000;
/** List values of one row group at most, so that memory stays flat while long contexts are written and read. */
export const ROW_GROUP_VALUES = 250_000;

/** Key of the footer's metadata that says what a file holds; a reader refuses a foreign file by it. */
const FORMAT_KEY = 'memagent.format';
const CREATED_BY = 'memagent-pipeline';

/** What one kind of Parquet file looks like. `format` names it, with a version, in the footer. */
export interface ParquetLayout {
  format: string;
  schema: SchemaElement[];
}

/** A required leaf, e.g. `leaf('step', 'INT32')`. */
export function leaf(name: string, type: 'INT32' | 'DOUBLE' | 'BOOLEAN' | 'STRING'): SchemaElement[] {
  if (type === 'STRING') return [{ name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' }];
  return [{ name, type, repetition_type: 'REQUIRED' }];
}

/** A required three-level LIST of the given element, the form that pyarrow, DuckDB and polars read as a list. */
export function list(name: string, element: SchemaElement[]): SchemaElement[] {
  const [head, ...rest] = element;
  if (head === undefined) throw new TypeError(`list column ${name} has no element`);
  return [
    { name, repetition_type: 'REQUIRED', converted_type: 'LIST', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { ...head, name: 'element' },
    ...rest,
  ];
}

/** A required group of fields; each field is what {@link leaf}, {@link list} or {@link struct} returned. */
export function struct(name: string, fields: SchemaElement[][]): SchemaElement[] {
  return [{ name, repetition_type: 'REQUIRED', num_children: fields.length }, ...fields.flat()];
}

/**
 * Writes a Parquet file (Snappy) group by group to a temporary name, syncs it, renames it: memory is bounded by one row
 * group, and a reader sees either the old file or the whole new one. Equal input gives equal bytes.
 *
 * @throws PipelineError `StorageFailed` naming the path
 */
export async function writeParquet(
  path: string,
  layout: ParquetLayout,
  groups: Iterable<ColumnSource[]>
): Promise<{ sha256: string; bytes: number }> {
  const temporary = temporaryName(path);
  try {
    await mkdir(dirname(path), { recursive: true });
    const handle = await open(temporary, 'wx');
    let facts;
    try {
      facts = await writeGroups(handle, layout, groups);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
    await syncDirectory(dirname(path));
    return facts;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    if (isSystemError(error)) throw storageError(path, error);
    throw error;
  }
}

async function writeGroups(
  handle: FileHandle,
  layout: ParquetLayout,
  groups: Iterable<ColumnSource[]>
): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  const buffer = new ByteWriter(64 * 1024);
  const writer = new ParquetWriter({
    writer: buffer,
    schema: layout.schema,
    createdBy: CREATED_BY,
    kvMetadata: [{ key: FORMAT_KEY, value: layout.format }],
  });
  const drain = async (): Promise<void> => {
    const bytes = buffer.getBytes();
    hash.update(bytes);
    await handle.writeFile(bytes);
    // `offset` (the position in the file) goes on; only the memory buffer starts again.
    buffer.index = 0;
  };
  for (const columnData of groups) {
    await writer.write({ columnData, rowGroupSize: ROW_GROUP_ROWS });
    await drain();
  }
  await writer.finish();
  await drain();
  return { sha256: hash.digest('hex'), bytes: buffer.offset };
}

/**
 * Reads a Parquet file of a known layout, one row group after the other.
 *
 * @throws PipelineError `DataInvalid` naming the path: missing, torn, or not of this layout
 */
export async function readParquet(
  path: string,
  layout: ParquetLayout,
  onGroup: (rows: Record<string, unknown>[]) => void
): Promise<void> {
  const { file, metadata } = await openParquet(path);
  checkLayout(path, metadata, layout);
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    let rows: Record<string, unknown>[];
    try {
      rows = await parquetReadObjects({ file, metadata, rowStart, rowEnd });
    } catch (error) {
      throw torn(path, `rows ${rowStart}-${rowEnd - 1} cannot be decoded (${messageOf(error)})`, error);
    }
    if (rows.length !== rowEnd - rowStart) {
      throw torn(path, `${rows.length} of the ${rowEnd - rowStart} rows of a row group are there`);
    }
    onGroup(rows);
    rowStart = rowEnd;
  }
}

/** Files up to this size are read at once: opening a file anew for each column costs more. Unit: bytes. */
const WHOLE_FILE = 32 * 1024 * 1024;

async function openParquet(path: string): Promise<{ file: AsyncBuffer; metadata: FileMetaData }> {
  try {
    const facts = await stat(path);
    if (!facts.isFile()) throw new Error('it is not a file');
    const file = facts.size <= WHOLE_FILE ? await readWhole(path) : await asyncBufferFromFile(path);
    return { file, metadata: await parquetMetadataAsync(file) };
  } catch (error) {
    throw torn(path, messageOf(error), error);
  }
}

async function readWhole(path: string): Promise<AsyncBuffer> {
  const bytes = await readFile(path);
  const copy = new Uint8Array(bytes).buffer;
  return { byteLength: copy.byteLength, slice: (start, end) => copy.slice(start, end) };
}

function checkLayout(path: string, metadata: FileMetaData, layout: ParquetLayout): void {
  const format = metadata.key_value_metadata?.find(({ key }) => key === FORMAT_KEY)?.value;
  if (format === layout.format) return;
  const found = format === undefined ? 'no format mark' : `the format mark "${format}"`;
  throw new PipelineError(
    'DataInvalid',
    `${path} is a Parquet file with ${found}, expected "${layout.format}". Give the file that this pipeline wrote.`,
    { where: path }
  );
}

/** The `DataInvalid` of a file that is not whole. */
export function torn(path: string, reason: string, cause?: unknown): PipelineError {
  const cure = 'Delete it and run again: the stage that wrote it makes it anew.';
  return new PipelineError(
    'DataInvalid',
    `cannot read the Parquet file ${path}: ${reason}. It is missing, torn or changed. ${cure}`,
    { where: path, cure },
    { cause }
  );
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
