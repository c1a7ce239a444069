import { stat } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PipelineError } from '../contracts/pipeline-error.js';
import type { Flavour } from '../contracts/trajectory.js';
import { convertRow } from './convert-row.js';
import { AtomicTextWriter } from './line-writer.js';
import { pyJsonDumps } from './python/json-dumps.js';
import { PythonError, pyTypeName } from './python/value.js';
import { readRows } from './read-rows.js';
import { describeSkipped, SkipCounter, type SkipReport } from './skip-report.js';
import type { SourceRow } from './source-row.js';

export interface ConvertOptions {
  /** Path of a parquet, JSON or JSONL file. */
  source: string;
  /** Path of the JSONL file to write. */
  output: string;
  /** Default `relax`. */
  flavour?: Flavour;
  /** Stop after this many written rows; default all. */
  limit?: number;
}

export interface ConvertProgress {
  rowsRead: number;
  rowsWritten: number;
  bytesRead: number;
  bytesTotal: number;
}

export interface ConvertPorts {
  /** Called a few times a second at most while a file is converted. */
  onProgress?: (progress: ConvertProgress) => void;
  signal?: AbortSignal;
}

/** What became of a source file. */
export interface ConvertedFile {
  sha256: string;
  bytes: number;
  /** Rows of the result. */
  written: number;
  /** Rows looked at; fewer than the file has when the limit was reached. */
  rowsRead: number;
  skipped: SkipReport;
}

/** Longest stretch of work between two turns of the event loop. Unit: milliseconds. */
const SLICE_MS = 15;
const PROGRESS_MS = 250;

/**
 * Converts a data file to JSON Lines, one row a line, byte for byte as the reference does; memory stays flat for any size.
 *
 * A row the reference leaves out, or fails on, is counted with its reason and place.
 *
 * @throws PipelineError DataInvalid when the source is torn or no row of it is usable; StorageFailed; AbortError when aborted
 */
export async function convertFile(options: ConvertOptions, ports: ConvertPorts = {}): Promise<ConvertedFile> {
  const writer = await AtomicTextWriter.create(options.output);
  try {
    const run = new Conversion(options, ports, writer);
    await run.all();
    if (run.written === 0) throw noUsableRow(options.source, run.rowsRead, run.skips.report());
    const { sha256, bytes } = await writer.commit();
    return { sha256, bytes, written: run.written, rowsRead: run.rowsRead, skipped: run.skips.report() };
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

class Conversion {
  rowsRead = 0;
  written = 0;
  readonly skips = new SkipCounter();
  private bytesRead = 0;
  private sliceStart = performance.now();
  private lastReport = 0;

  constructor(
    private readonly options: ConvertOptions,
    private readonly ports: ConvertPorts,
    private readonly writer: AtomicTextWriter
  ) {}

  async all(): Promise<void> {
    const { source } = this.options;
    const onBytes = (bytes: number): void => {
      this.bytesRead = bytes;
    };
    const bytesTotal = await stat(source).then(
      ({ size }) => size,
      () => 0
    );
    for await (const batch of readRows(source, { onBytes, ...(this.ports.signal && { signal: this.ports.signal }) })) {
      for (const row of batch) {
        if (this.isFull()) return;
        await this.one(row);
      }
      this.report(bytesTotal);
      if (this.isFull()) return;
    }
  }

  private isFull(): boolean {
    return this.options.limit !== undefined && this.written >= this.options.limit;
  }

  private async one(row: SourceRow): Promise<void> {
    this.rowsRead += 1;
    const line = lineOf(row, this.options.flavour ?? 'relax', this.skips);
    if (line !== undefined) {
      await this.writer.write(`${line}\n`);
      this.written += 1;
    }
    if (performance.now() - this.sliceStart < SLICE_MS) return;
    this.ports.signal?.throwIfAborted();
    await nextTurn();
    this.sliceStart = performance.now();
  }

  private report(bytesTotal: number): void {
    const now = performance.now();
    if (this.ports.onProgress === undefined || now - this.lastReport < PROGRESS_MS) return;
    this.lastReport = now;
    this.ports.onProgress({
      rowsRead: this.rowsRead,
      rowsWritten: this.written,
      bytesRead: this.bytesRead,
      bytesTotal,
    });
  }
}

/** The row's JSON line, or undefined after counting why there is none. */
function lineOf(source: SourceRow, flavour: Flavour, skips: SkipCounter): string | undefined {
  if ('malformed' in source) {
    skips.add(source, source.malformed, source.detail);
    return undefined;
  }
  if (!(source.value instanceof Map)) {
    skips.add(source, 'not an object', `the row is of Python type ${pyTypeName(source.value)}`);
    return undefined;
  }
  try {
    const converted = convertRow(source.value, flavour);
    if ('skipped' in converted) {
      skips.add(source, converted.skipped);
      return undefined;
    }
    const line = pyJsonDumps(converted.row);
    if (line.isWellFormed()) return line;
    skips.add(source, 'not writable as UTF-8', 'a text has half of a surrogate pair');
  } catch (error) {
    if (!(error instanceof PythonError)) throw error;
    skips.add(source, 'wrong type', `${error.type}: ${error.message}`);
  }
  return undefined;
}

function noUsableRow(path: string, rowsRead: number, skipped: SkipReport): PipelineError {
  const problems = describeSkipped(skipped);
  const why = rowsRead === 0 ? 'it has no rows' : problems.slice(0, 5).join('; ');
  const cure =
    'Every row needs a context, a question and at least one answer: `input`/`answers`, `question`/`answer`, or `prompt`/`reward_model`';
  return new PipelineError('DataInvalid', `${path} has no usable row: ${why}. ${cure}`, {
    where: path,
    problems,
    cure,
  });
}
