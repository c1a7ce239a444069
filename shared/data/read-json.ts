import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { JsonFault, JsonScanner, type JsonElement } from './json-scanner.js';
import { JsonDecodeError, pyJsonLoads } from './python/json-loads.js';
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
  try {
    if ((await shapeOf(path, options)) === 'one row') {
      yield [{ row: 1, line: 1, value: await readWhole(path) }];
      return;
    }
    const scanner = new JsonScanner('all');
    let row = 0;
    for await (const piece of pieces(path, options)) {
      const rows: SourceRow[] = [];
      for (const element of scanner.push(piece)) {
        if (element.kind === 'value') rows.push(rowOf(element, (row += 1)));
      }
      if (rows.length > 0) yield rows;
    }
    scanner.finishInput();
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const { line, column } = await placeInFile(path, error.offset);
    throw dataInvalid(path, `line ${line} column ${column}: ${error.problem}`, error.cure, error);
  }
}

function rowOf({ line, offset, bytes, size }: JsonElement, row: number): SourceRow {
  if (bytes === undefined) {
    return { row, line, malformed: 'too large', detail: `${size} bytes, at most ${MAX_ROW_BYTES} are possible` };
  }
  try {
    return { row, line, value: parse(bytes, offset) };
  } catch (error) {
    if (error instanceof PythonError) return { row, line, malformed: 'not JSON', detail: error.message };
    throw error;
  }
}

/** @throws JsonFault for text that is not UTF-8 or not JSON; PythonError for what only CPython's limits forbid */
function parse(bytes: Buffer, offset: number): PyValue {
  const text = decodeUtf8(bytes);
  if (text === undefined)
    throw new JsonFault(offset, 'the value that starts here is not UTF-8', 'Convert the file to UTF-8');
  try {
    return pyJsonLoads(text);
  } catch (error) {
    throw error instanceof JsonDecodeError ? faultOf(text, error, offset) : error;
  }
}

/** A parser's error at its place in the file, with the usual causes named. */
function faultOf(text: string, error: JsonDecodeError, offset: number): JsonFault {
  const before = text.slice(0, error.offset).trimEnd();
  const found = text.charAt(error.offset);
  const place = (at: number): number => offset + Buffer.byteLength(text.slice(0, at));
  if (before.endsWith(',') && (found === ']' || found === '}')) {
    return new JsonFault(place(before.length - 1), `trailing comma before the closing ${found}`, 'Remove that comma');
  }
  const cure = found === "'" ? 'JSON strings stand in double quotes' : 'Correct the file there';
  return new JsonFault(place(error.offset), error.reason, cure);
}

/** Line and column (in characters) of a byte: looked up only for an error, by reading the file again up to it. */
async function placeInFile(path: string, offset: number): Promise<{ line: number; column: number }> {
  let line = 1;
  let column = 1;
  if (offset === 0) return { line, column };
  for await (const piece of createReadStream(path, { highWaterMark: PIECE_BYTES, end: offset - 1 })) {
    for (const byte of piece as Buffer) {
      if (byte === 0x0a) {
        line += 1;
        column = 1;
      } else if (byte < 0x80 || byte >= 0xc0) {
        column += 1;
      }
    }
  }
  return { line, column };
}

/**
 * Whether an object's values are all objects can only be known at its end, so an object is scanned once before its rows are
 * read; an array is not.
 */
async function shapeOf(path: string, options: ReadOptions): Promise<'rows' | 'one row'> {
  const scanner = new JsonScanner('keys');
  const keys = new Set<string>();
  let onlyObjects = true;
  for await (const piece of pieces(path, { ...options, onBytes: () => undefined })) {
    const elements = scanner.push(piece);
    if (scanner.top === '[') return 'rows';
    for (const element of elements) {
      if (element.kind === 'value') onlyObjects &&= element.first === 0x7b;
      else checkKey(keys, element);
    }
  }
  scanner.finishInput();
  return onlyObjects ? 'rows' : 'one row';
}

/** A repeated key would silently lose a row. */
function checkKey(keys: Set<string>, element: JsonElement): void {
  const key = element.bytes?.toString('utf8') ?? '';
  if (keys.has(key))
    throw new JsonFault(element.offset, `the key ${key.slice(0, 100)} is there twice`, 'Keep one of them');
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
    return parse(await handle.readFile(), 0);
  } catch (error) {
    if (error instanceof PythonError) throw dataInvalid(path, error.message, 'Correct the file', error);
    throw error;
  } finally {
    await handle.close();
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
