import { open, type FileHandle } from 'node:fs/promises';
import {
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
  type AsyncBuffer,
  type FileMetaData,
} from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { pageLocationsOf, planBatches } from './parquet-pages.js';
import { pythonRows } from './parquet-values.js';
import { checkLfsPointer, dataInvalid, type ReadOptions, type SourceRow } from './source-row.js';

const CURE = 'It is torn or not Parquet: copy or download it again and compare its SHA-256';

/** Buffer decodes UTF-8 several times faster than TextDecoder does. */
const PARSERS = {
  stringFromBytes: (bytes: Uint8Array): string =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'),
};

/**
 * Rows of a Parquet file of any size, in batches of about 8 MiB: row group by row group, and within a large group page by page.
 *
 * @throws PipelineError DataInvalid when the file is torn or not Parquet
 */
export async function* readParquetRows(path: string, options: ReadOptions = {}): AsyncGenerator<SourceRow[]> {
  const handle = await open(path);
  try {
    const file = await bufferOf(handle);
    const head = Buffer.from(await file.slice(0, Math.min(64, file.byteLength)));
    checkLfsPointer(path, head);
    const metadata = await footerOf(path, file, head);
    yield* readGroups(path, file, metadata, options);
  } finally {
    await handle.close();
  }
}

async function* readGroups(
  path: string,
  file: AsyncBuffer,
  metadata: FileMetaData,
  { onBytes, signal }: ReadOptions
): AsyncGenerator<SourceRow[]> {
  const tree = parquetSchema(metadata);
  const total = Number(metadata.num_rows);
  let row = 0;
  for (const [groupIndex, group] of metadata.row_groups.entries()) {
    const groupStart = row;
    const pages = await decoding(path, row, () => pageLocationsOf(file, metadata, groupIndex));
    const pageLocationsByGroup = metadata.row_groups.map((_, index) => (index === groupIndex ? pages : {}));
    for (const [from, to] of planBatches(group, tree, pages)) {
      signal?.throwIfAborted();
      // hyparquet takes page locations that it would otherwise read from the file's own page index.
      const read = {
        file,
        metadata,
        compressors,
        parsers: PARSERS,
        pageLocationsByGroup,
        rowStart: groupStart + from,
        rowEnd: groupStart + to,
      };
      const batch = await decoding(path, row, () => parquetReadObjects(read));
      if (batch.length !== to - from)
        throw dataInvalid(path, `rows ${row + 1} to ${groupStart + to} are incomplete`, CURE);
      yield pythonRows(batch, tree).map((value) => ({ row: (row += 1), value }));
      onBytes?.(Math.floor((file.byteLength * row) / total));
    }
  }
}

async function footerOf(path: string, file: AsyncBuffer, head: Buffer): Promise<FileMetaData> {
  if (file.byteLength === 0) throw dataInvalid(path, 'the file is empty', CURE);
  if (head.toString('latin1', 0, 4) !== 'PAR1') throw dataInvalid(path, 'the file does not begin with PAR1', CURE);
  try {
    return await parquetMetadataAsync(file);
  } catch (error) {
    throw dataInvalid(path, `the footer cannot be read (${messageOf(error)})`, CURE, error);
  }
}

async function decoding<T>(path: string, row: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw dataInvalid(path, `the rows from ${row + 1} on cannot be decoded (${messageOf(error)})`, CURE, error);
  }
}

async function bufferOf(handle: FileHandle): Promise<AsyncBuffer> {
  const { size } = await handle.stat();
  return {
    byteLength: size,
    async slice(start: number, end = size): Promise<ArrayBuffer> {
      const bytes = new Uint8Array(end - start);
      let done = 0;
      while (done < bytes.length) {
        const { bytesRead } = await handle.read(bytes, done, bytes.length - done, start + done);
        if (bytesRead === 0) throw new Error(`the file ends before byte ${end}`);
        done += bytesRead;
      }
      return bytes.buffer;
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
