import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { JsonScanner, type JsonElement } from './json-scanner.js';
import { JsonDecodeError, placeOf, pyJsonLoads } from './python/json-loads.js';
import { PythonError, type PyValue } from './python/value.js';
import {
  checkTextHead,
  dataInvalid,
  decodeUtf8,
  MAX_ROW_BYTES,
  type ReadOptions,
  type SourceRow,
} from './source-row.js';

/** Small enough that scanning and parsing one piece never holds the event loop for long. */
const PIECE_BYTES = 256 * 1024;

/**
 * Rows of a JSON file of any size, in batches: the elements of an array, or the values of an object whose values are all
 * objects; any other object is itself the only row.
 *
 * @throws PipelineError DataInvalid naming line and column: BOM, trailing comma, torn file, anything that is not JSON
 */
export async function* readJsonRows(path: string, options: ReadOptions = {}): AsyncGenerator<SourceRow[]> {
  if ((await shapeOf(path, options)) === 'one row') {
    yield [{ row: 1, line: 1, value: await readWhole(path) }];
    return;
  }
  const scanner = new JsonScanner(path, 'all');
  let row = 0;
  for await (const piece of pieces(path, options)) {
    const rows: SourceRow[] = [];
    for (const element of scanner.push(piece)) {
      if (element.kind === 'value') rows.push(rowOf(path, element, (row += 1)));
    }
    if (rows.length > 0) yield rows;
  }
  scanner.finishInput();
}

function rowOf(path: string, element: JsonElement, row: number): SourceRow {
  const { line, column, bytes } = element;
  if (bytes === undefined) {
    return {
      row,
      line,
      malformed: 'too large',
      detail: `${element.size} bytes, at most ${MAX_ROW_BYTES} are possible`,
    };
  }
  const text = decodeUtf8(bytes);
  if (text === undefined) {
    throw dataInvalid(
      path,
      `row ${row}, which starts at line ${line} column ${column}, is not UTF-8`,
      'Convert the file to UTF-8'
    );
  }
  try {
    return { row, line, value: pyJsonLoads(text) };
  } catch (error) {
    if (error instanceof JsonDecodeError) throw explain(path, text, error, element);
    if (error instanceof PythonError) return { row, line, malformed: 'not JSON', detail: error.message };
    throw error;
  }
}

/** Places a parser's error in the file and names the usual causes. */
function explain(path: string, text: string, error: JsonDecodeError, start: { line: number; column: number }): Error {
  const absolute = (offset: number): string => {
    const { line, column } = placeOf(text, offset);
    return `line ${start.line + line - 1} column ${line === 1 ? start.column + column - 1 : column}`;
  };
  const before = text.slice(0, error.offset).trimEnd();
  const found = text.charAt(error.offset);
  if (before.endsWith(',') && (found === ']' || found === '}')) {
    return dataInvalid(
      path,
      `${absolute(before.length - 1)}: trailing comma before the closing ${found}`,
      'Remove that comma',
      error
    );
  }
  const cure = found === "'" ? 'JSON strings stand in double quotes' : 'Correct the file there';
  return dataInvalid(path, `${absolute(error.offset)}: ${error.reason}`, cure, error);
}

/**
 * Whether an object's values are all objects can only be known at its end, so an object is scanned once before its rows are
 * read; an array is not.
 */
async function shapeOf(path: string, options: ReadOptions): Promise<'rows' | 'one row'> {
  const scanner = new JsonScanner(path, 'keys');
  const keys = new Set<string>();
  let onlyObjects = true;
  for await (const piece of pieces(path, { ...options, onBytes: () => undefined })) {
    const elements = scanner.push(piece);
    if (scanner.top === '[') return 'rows';
    for (const element of elements) {
      if (element.kind === 'value') onlyObjects &&= element.first === 0x7b;
      else checkKey(path, keys, element);
    }
  }
  scanner.finishInput();
  return onlyObjects ? 'rows' : 'one row';
}

/** A repeated key would silently lose a row. */
function checkKey(path: string, keys: Set<string>, element: JsonElement): void {
  const key = element.bytes?.toString('utf8') ?? '';
  if (keys.has(key)) {
    throw dataInvalid(
      path,
      `line ${element.line} column ${element.column}: the key ${key.slice(0, 100)} is there twice`,
      'Keep one of them'
    );
  }
  keys.add(key);
}

async function readWhole(path: string): Promise<PyValue> {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    if (size > MAX_ROW_BYTES) {
      throw dataInvalid(
        path,
        `the file is one JSON object of ${size} bytes, not a list of rows`,
        'Give an array of rows, or JSON Lines'
      );
    }
    const text = decodeUtf8(await handle.readFile());
    if (text === undefined) throw dataInvalid(path, 'the file is not UTF-8', 'Convert it to UTF-8');
    return parseWhole(path, text);
  } finally {
    await handle.close();
  }
}

function parseWhole(path: string, text: string): PyValue {
  try {
    return pyJsonLoads(text);
  } catch (error) {
    if (error instanceof JsonDecodeError) throw explain(path, text, error, { line: 1, column: 1 });
    if (error instanceof PythonError) throw dataInvalid(path, error.message, 'Correct the file', error);
    throw error;
  }
}

async function* pieces(path: string, { onBytes, signal }: ReadOptions): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const piece of createReadStream(path, { highWaterMark: PIECE_BYTES, ...(signal && { signal }) })) {
    const buffer = piece as Buffer;
    if (bytes === 0) checkTextHead(path, buffer.subarray(0, 64));
    bytes += buffer.byteLength;
    yield buffer;
    onBytes?.(bytes);
  }
}
