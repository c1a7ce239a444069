import type { ColumnSource } from 'hyparquet-writer';
import { PipelineError } from '../contracts/pipeline-error.js';
import type { TrainingRows } from '../contracts/trajectory.js';
import {
  leaf,
  list,
  readParquet,
  ROW_GROUP_ROWS,
  ROW_GROUP_VALUES,
  torn,
  writeParquet,
  type ParquetLayout,
} from './parquet-file.js';

/** The columns of a rows file, in their order; names as in {@link TrainingRows}. */
const COLUMNS = {
  tokens: 'ints',
  response_lengths: 'int',
  loss_masks: 'ints',
  rollout_log_probs: 'doubles',
  rewards: 'double',
  raw_reward: 'double',
  truncated: 'int',
  sample_indices: 'int',
  trajectory_indices: 'int',
  turn_indices: 'int',
  total_lengths: 'int',
} as const satisfies Record<keyof TrainingRows, 'int' | 'ints' | 'double' | 'doubles'>;

const NAMES = Object.keys(COLUMNS) as (keyof TrainingRows)[];

const LAYOUT: ParquetLayout = {
  format: 'training-rows/1',
  schema: [{ name: 'schema', num_children: NAMES.length }, ...NAMES.flatMap(columnSchema)],
};

function columnSchema(name: keyof TrainingRows): ParquetLayout['schema'] {
  const form = COLUMNS[name];
  const element = form.startsWith('int') ? leaf(name, 'INT32') : leaf(name, 'DOUBLE');
  return form.endsWith('s') ? list(name, element) : element;
}

/**
 * Writes training rows as Parquet, one row of the file a training row: `list<int32>` and `list<double>` columns, so that
 * every value comes back exactly. Atomic; equal rows give equal bytes.
 *
 * @throws PipelineError `ConversionFailed` when the columns are not of one length, `StorageFailed` naming the path
 */
export async function writeRows(path: string, rows: TrainingRows): Promise<{ sha256: string; bytes: number }> {
  const count = rows.tokens.length;
  const uneven = NAMES.filter((name) => rows[name].length !== count);
  if (uneven.length > 0) {
    const facts = uneven.map((name) => `${name} has ${rows[name].length}`).join(', ');
    throw new PipelineError('ConversionFailed', `training rows of ${path}: tokens has ${count} rows, but ${facts}.`, {
      where: path,
    });
  }
  return writeParquet(path, LAYOUT, rowGroups(rows));
}

function* rowGroups(rows: TrainingRows): Generator<ColumnSource[]> {
  const count = rows.tokens.length;
  for (let start = 0; start < count;) {
    const end = groupEnd(rows, start);
    yield NAMES.map((name) => columnSource(name, rows[name].slice(start, end)));
    start = end;
  }
}

function groupEnd(rows: TrainingRows, start: number): number {
  let values = 0;
  let end = start;
  while (end < rows.tokens.length && end - start < ROW_GROUP_ROWS) {
    values += rows.tokens[end]?.length ?? 0;
    if (end > start && values > ROW_GROUP_VALUES) break;
    end += 1;
  }
  return end;
}

function columnSource(name: keyof TrainingRows, data: number[] | number[][]): ColumnSource {
  // The dictionary encoder would merge -0 into 0, which plain encoding keeps apart.
  return data.some((cell) => hasNegativeZero(cell)) ? { name, data, encoding: 'PLAIN' } : { name, data };
}

/** True when a number, or any number of a list, is −0. */
export function hasNegativeZero(cell: number | number[]): boolean {
  return Array.isArray(cell) ? cell.some((value) => Object.is(value, -0)) : Object.is(cell, -0);
}

/**
 * Reads what {@link writeRows} wrote; equal to it value by value.
 *
 * @throws PipelineError `DataInvalid` naming the path
 */
export async function readRows(path: string): Promise<TrainingRows> {
  const rows = Object.fromEntries(NAMES.map((name) => [name, [] as unknown[]])) as Record<
    keyof TrainingRows,
    unknown[]
  >;
  await readParquet(path, LAYOUT, (records) => {
    for (const record of records) {
      for (const name of NAMES) rows[name].push(checkedCell(path, name, record[name]));
    }
  });
  return rows as unknown as TrainingRows;
}

function checkedCell(path: string, name: keyof TrainingRows, cell: unknown): number | number[] {
  const good = COLUMNS[name].endsWith('s') ? Array.isArray(cell) : typeof cell === 'number';
  if (!good) throw torn(path, `column ${name} holds ${cell === null ? 'null' : typeof cell}`);
  return cell as number | number[];
}
