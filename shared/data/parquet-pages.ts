import type { AsyncBuffer, ColumnMetaData, FileMetaData, RowGroup, SchemaTree } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';

/** An entry of Parquet's offset index: where a page (with its header) is and which row of its group it begins with. */
export interface PageLocation {
  offset: bigint;
  compressed_page_size: number;
  first_row_index: bigint;
}

/** Uncompressed bytes of one batch of rows, about. */
const BATCH_BYTES = 8 * 1024 * 1024;
/** Column chunks smaller than this are read whole: looking for their pages would cost more. */
const LARGE_CHUNK_BYTES = 4 * 1024 * 1024;
/** Bytes read to parse a page header; headers with long statistics are read again with more. */
const HEADER_BYTES = 4 * 1024;
const MAX_HEADER_BYTES = 16 * 1024 * 1024;

/**
 * Row ranges `[from, to)` of a row group, each about {@link BATCH_BYTES}, cut where pages of the largest column begin: a page
 * can only be decoded as a whole, and some writers put a thousand rows of any size into one. A group whose large columns are
 * nested is one batch, for the same reason.
 *
 * @param pages what {@link pageLocationsOf} found for the group
 */
export function planBatches(
  group: RowGroup,
  tree: SchemaTree,
  pages: Readonly<Record<string, readonly PageLocation[]>>
): [number, number][] {
  const rows = Number(group.num_rows);
  const large = group.columns.flatMap(({ meta_data: meta }) => (meta !== undefined && isLarge(meta) ? [meta] : []));
  if (large.some((meta) => !isFlat(meta, tree))) return [[0, rows]];
  const step = Math.max(1, Math.floor((rows * BATCH_BYTES) / Math.max(1, uncompressedBytes(group))));
  const starts = pageStarts(large, pages);
  const batches: [number, number][] = [];
  for (let from = 0; from < rows;) {
    const to =
      starts?.find((start) => start >= from + step) ?? (starts === undefined ? Math.min(rows, from + step) : rows);
    batches.push([from, to]);
    from = to;
  }
  return batches;
}

/** First rows of the largest column's pages, or undefined when no large column's pages are known. */
function pageStarts(
  large: ColumnMetaData[],
  pages: Readonly<Record<string, readonly PageLocation[]>>
): number[] | undefined {
  const bySize = large.sort((a, b) => Number(b.total_uncompressed_size - a.total_uncompressed_size));
  return pages[bySize[0]?.path_in_schema.join('.') ?? '']?.map((page) => Number(page.first_row_index));
}

/**
 * Where the pages of a group's large flat columns are, so that a batch reads only its own pages. Few writers store a page
 * index; the page headers themselves say the same.
 *
 * @returns page locations by column name, rows counted within the group
 */
export async function pageLocationsOf(
  file: AsyncBuffer,
  metadata: FileMetaData,
  groupIndex: number
): Promise<Record<string, PageLocation[]>> {
  const found: Record<string, PageLocation[]> = {};
  const group = metadata.row_groups[groupIndex] as RowGroup;
  for (const { meta_data: meta } of group.columns) {
    // A flat column has one value a row, nulls included; only for those do page headers tell row numbers.
    if (meta === undefined || !isLarge(meta) || meta.path_in_schema.length !== 1) continue;
    if (Number(meta.num_values) !== Number(group.num_rows)) continue;
    found[meta.path_in_schema.join('.')] = await locate(file, meta);
  }
  return found;
}

async function locate(file: AsyncBuffer, meta: ColumnMetaData): Promise<PageLocation[]> {
  const pages: PageLocation[] = [];
  let offset = Number(meta.dictionary_page_offset || meta.data_page_offset);
  const end = offset + Number(meta.total_compressed_size);
  let row = 0;
  while (offset < end) {
    const { header, bytes } = await headerAt(file, offset, end);
    const size = bytes + header.compressed_page_size;
    const values = header.data_page_header?.num_values ?? header.data_page_header_v2?.num_rows;
    if (values !== undefined) {
      pages.push({ offset: BigInt(offset), compressed_page_size: size, first_row_index: BigInt(row) });
      row += values;
    }
    offset += size;
  }
  if (row !== Number(meta.num_values)) {
    throw new Error(`column ${meta.path_in_schema.join('.')}: its pages hold ${row} of ${meta.num_values} values`);
  }
  return pages;
}

async function headerAt(
  file: AsyncBuffer,
  offset: number,
  end: number
): Promise<{ header: ReturnType<typeof parquetHeader>; bytes: number }> {
  for (let size = HEADER_BYTES; ; size *= 8) {
    const stop = Math.min(offset + size, end);
    const reader = { view: new DataView(await file.slice(offset, stop)), offset: 0 };
    try {
      const header = parquetHeader(reader);
      if (!(header.compressed_page_size >= 0)) throw new Error(`no page header at byte ${offset}`);
      return { header, bytes: reader.offset };
    } catch (error) {
      if (stop === end || size >= MAX_HEADER_BYTES) throw error;
    }
  }
}

function isLarge(meta: ColumnMetaData): boolean {
  return meta.total_uncompressed_size > LARGE_CHUNK_BYTES;
}

function isFlat(meta: ColumnMetaData, tree: SchemaTree): boolean {
  const column = tree.children.find(({ element }) => element.name === meta.path_in_schema[0]);
  return column !== undefined && column.children.length === 0 && column.element.repetition_type !== 'REPEATED';
}

function uncompressedBytes(group: RowGroup): number {
  return group.columns.reduce((sum, { meta_data: meta }) => sum + Number(meta?.total_uncompressed_size ?? 0), 0);
}
