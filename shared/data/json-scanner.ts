import { dataInvalid, MAX_ROW_BYTES } from './source-row.js';

/** A value (or key) directly below the top level of a JSON file. */
export interface JsonElement {
  kind: 'key' | 'value';
  /** Undefined when the scanner does not collect, or the element is larger than {@link MAX_ROW_BYTES}. */
  bytes: Buffer | undefined;
  /** First byte, e.g. 0x7b for an object. */
  first: number;
  size: number;
  /** Where it starts: line and column from 1, columns in characters. */
  line: number;
  column: number;
}

type State = 'start' | 'item' | 'key' | 'colon' | 'element' | 'comma' | 'end';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/**
 * Cuts a JSON file into the elements of its top-level array or the members of its top-level object while its bytes arrive in
 * pieces. Memory: one element. What stands inside an element is not checked; brackets and strings are only followed.
 *
 * Every fault is a PipelineError DataInvalid that names line and column.
 */
export class JsonScanner {
  /** `[` or `{` once known. */
  top: '[' | '{' | undefined;
  private state: State = 'start';
  private line = 1;
  /** Bytes before the current piece; start of the line; UTF-8 continuation bytes of the line. */
  private base = 0;
  private lineStart = 0;
  private continuation = 0;
  private afterComma: { line: number; column: number } | undefined;

  private element: JsonElement | undefined;
  private parts: Buffer[] = [];
  private depth = 0;
  private inString = false;
  private escaped = false;

  constructor(
    private readonly path: string,
    /** `keys`: values are only walked over. */
    private readonly collect: 'all' | 'keys'
  ) {}

  /** @returns the elements that end in this piece */
  push(piece: Buffer): JsonElement[] {
    const found: JsonElement[] = [];
    let from = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at] as number;
      if (this.state === 'element') {
        const ends = this.elementEnds(byte);
        if (ends !== 'no') {
          const stop = ends === 'with' ? at + 1 : at;
          found.push(this.finish(piece.subarray(from, stop)));
          if (ends === 'with') continue;
        }
      }
      if (byte === 0x0a) this.newLine(at);
      else if (byte >= 0x80 && byte < 0xc0) this.continuation += 1;
      if (this.state !== 'element' && !isSpace(byte) && this.structure(byte, at)) from = at;
    }
    if (this.state === 'element') this.keep(piece.subarray(from));
    this.base += piece.length;
    return found;
  }

  /** @throws PipelineError DataInvalid when the file is not complete */
  finishInput(): void {
    if (this.state === 'end') return;
    if (this.state === 'start') throw this.invalid('the file is empty', 'Give a JSON array of rows, or JSON Lines');
    const inside = this.element === undefined ? '' : `, inside the value that starts at ${place(this.element)}`;
    throw this.invalid(
      `line ${this.line}: the file ends before its closing ${this.top === '[' ? ']' : '}'}${inside}`,
      'It is torn: copy or download it again'
    );
  }

  private elementEnds(byte: number): 'no' | 'with' | 'before' {
    if (this.inString) {
      if (this.escaped) this.escaped = false;
      else if (byte === BACKSLASH) this.escaped = true;
      else if (byte === QUOTE) {
        this.inString = false;
        if (this.depth === 0) return 'with';
      }
      return 'no';
    }
    if (byte === QUOTE) this.inString = true;
    else if (byte === 0x7b || byte === 0x5b) this.depth += 1;
    else if (byte === 0x7d || byte === 0x5d) {
      if (this.depth === 0) return 'before';
      this.depth -= 1;
      if (this.depth === 0) return 'with';
    } else if (this.depth === 0 && (byte === COMMA || isSpace(byte))) return 'before';
    return 'no';
  }

  /** A byte between elements; true when an element starts at it. */
  private structure(byte: number, at: number): boolean {
    switch (this.state) {
      case 'start':
        return this.open(byte, at);
      case 'item':
      case 'key':
        return this.begin(byte, at);
      case 'colon':
        if (byte !== 0x3a) throw this.unexpected(byte, at, 'a colon');
        this.state = 'item';
        return false;
      case 'comma':
        return this.next(byte, at);
      case 'end':
        throw this.invalid(
          `${place(this.placeAt(at))}: there is more text after the end of the JSON value`,
          'If every line is a JSON value of its own, name the file .jsonl'
        );
      case 'element':
        return false;
    }
  }

  private open(byte: number, at: number): boolean {
    if (byte !== 0x5b && byte !== 0x7b)
      throw this.unexpected(byte, at, 'an array of rows or an object whose values are rows');
    this.top = byte === 0x5b ? '[' : '{';
    this.state = byte === 0x5b ? 'item' : 'key';
    return false;
  }

  private begin(byte: number, at: number): boolean {
    const closing = this.top === '[' ? 0x5d : 0x7d;
    if (byte === closing && (this.state === 'key' || this.top === '[')) {
      if (this.afterComma !== undefined) {
        throw this.invalid(
          `${place(this.afterComma)}: trailing comma before the closing ${String.fromCharCode(closing)}`,
          'Remove that comma'
        );
      }
      this.state = 'end';
      return false;
    }
    if (this.state === 'key' && byte !== QUOTE) throw this.unexpected(byte, at, 'a key in double quotes');
    if (byte === COMMA || byte === 0x5d || byte === 0x7d || byte === 0x3a) throw this.unexpected(byte, at, 'a value');
    const kind = this.state === 'key' ? 'key' : 'value';
    this.element = { kind, bytes: undefined, first: byte, size: 0, ...this.placeAt(at) };
    this.state = 'element';
    this.inString = byte === QUOTE;
    this.escaped = false;
    this.depth = byte === 0x7b || byte === 0x5b ? 1 : 0;
    return true;
  }

  private next(byte: number, at: number): boolean {
    const closing = this.top === '[' ? 0x5d : 0x7d;
    if (byte === closing) {
      this.state = 'end';
    } else if (byte === COMMA) {
      this.afterComma = this.placeAt(at);
      this.state = this.top === '[' ? 'item' : 'key';
    } else {
      throw this.unexpected(byte, at, `a comma or the closing ${String.fromCharCode(closing)}`);
    }
    return false;
  }

  private finish(rest: Buffer): JsonElement {
    this.keep(rest);
    const element = this.element as JsonElement;
    const whole = this.collects(element) && element.size <= MAX_ROW_BYTES;
    if (whole) element.bytes = this.parts.length === 1 ? (this.parts[0] as Buffer) : Buffer.concat(this.parts);
    this.parts = [];
    this.element = undefined;
    this.afterComma = undefined;
    this.state = element.kind === 'key' ? 'colon' : 'comma';
    return element;
  }

  private keep(bytes: Buffer): void {
    const element = this.element as JsonElement;
    element.size += bytes.length;
    if (!this.collects(element)) return;
    if (element.size > MAX_ROW_BYTES) this.parts = [];
    else this.parts.push(bytes);
  }

  private collects({ kind }: JsonElement): boolean {
    return this.collect === 'all' || kind === 'key';
  }

  private newLine(at: number): void {
    this.line += 1;
    this.lineStart = this.base + at + 1;
    this.continuation = 0;
  }

  private placeAt(at: number): { line: number; column: number } {
    return { line: this.line, column: this.base + at - this.lineStart - this.continuation + 1 };
  }

  private unexpected(byte: number, at: number, expected: string): Error {
    const found = byte >= 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : `byte 0x${byte.toString(16)}`;
    return this.invalid(`${place(this.placeAt(at))}: expected ${expected}, found ${found}`, 'Correct the file there');
  }

  private invalid(problem: string, cure: string): Error {
    return dataInvalid(this.path, problem, cure);
  }
}

function place({ line, column }: { line: number; column: number }): string {
  return `line ${line} column ${column}`;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
