import { MAX_ROW_BYTES } from './source-row.js';

/** A value (or key) directly below the top level of a JSON file. */
export interface JsonElement {
  kind: 'key' | 'value';
  /** Undefined when the scanner does not collect it, or the element is larger than {@link MAX_ROW_BYTES}. */
  bytes: Buffer | undefined;
  /** First byte, e.g. 0x7b for an object. */
  first: number;
  /** Unit: bytes. */
  size: number;
  /** Byte offset in the file. */
  offset: number;
  /** Line where it starts, from 1. */
  line: number;
}

/** A fault of a JSON file, at a byte offset; line and column are looked up only when a fault is reported. */
export class JsonFault extends Error {
  constructor(
    readonly offset: number,
    readonly problem: string,
    readonly cure: string
  ) {
    super(`byte ${offset}: ${problem}`);
  }
}

type State = 'start' | 'item' | 'key' | 'colon' | 'comma' | 'end';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const NEWLINE = 0x0a;

/**
 * Cuts a JSON file into the elements of its top-level array or the members of its top-level object while its bytes arrive in
 * pieces. Memory: one element. What stands inside an element is not checked; brackets and strings are only followed.
 *
 * Both methods throw {@link JsonFault}.
 */
export class JsonScanner {
  /** `[` or `{` once known. */
  top: '[' | '{' | undefined;
  private state: State = 'start';
  private line = 1;
  /** Bytes before the current piece. */
  private base = 0;
  /** Offset of a comma after which nothing has come yet. */
  private openComma: number | undefined;

  private element: JsonElement | undefined;
  private parts: Buffer[] = [];
  private depth = 0;
  private inString = false;
  /** The element's last byte has been seen. */
  private done = false;
  /** The piece ended after an odd number of backslashes. */
  private escaped = false;

  constructor(
    /** `keys`: values are only walked over. */
    private readonly collect: 'all' | 'keys'
  ) {}

  /** @returns the elements that end in this piece */
  push(piece: Buffer): JsonElement[] {
    const found: JsonElement[] = [];
    let from = 0;
    let at = 0;
    while (at < piece.length) {
      if (this.element !== undefined) {
        const end = this.inString ? this.walkString(piece, at) : this.walkTokens(piece, at);
        if (end === undefined) break;
        at = end;
        if (!this.done) continue;
        found.push(this.finish(this.element, piece.subarray(from, at)));
        continue;
      }
      const byte = piece[at] as number;
      if (byte === NEWLINE) this.line += 1;
      else if (!isSpace(byte) && this.structure(byte, this.base + at)) from = at;
      at += 1;
    }
    if (this.element !== undefined) this.keep(this.element, piece.subarray(from));
    this.base += piece.length;
    return found;
  }

  /** To be called after the last piece. */
  finishInput(): void {
    if (this.state === 'end') return;
    if (this.state === 'start') throw new JsonFault(0, 'the file is empty', 'Give a JSON array of rows, or JSON Lines');
    const inside = this.element === undefined ? '' : `, inside the value that starts on line ${this.element.line}`;
    throw new JsonFault(
      this.base,
      `the file ends before its closing ${this.closing()}${inside}`,
      'It is torn: copy or download it again'
    );
  }

  /** Goes on after the closing quote; undefined when the piece ends first. Nearly all bytes of a data file are passed here. */
  private walkString(piece: Buffer, start: number): number | undefined {
    let from = start;
    if (this.escaped) {
      from += 1;
      this.escaped = false;
    }
    for (let quote = piece.indexOf(QUOTE, from); quote !== -1; quote = piece.indexOf(QUOTE, quote + 1)) {
      if (backslashesBefore(piece, quote, from) % 2 === 1) continue;
      this.inString = false;
      this.done = this.depth === 0;
      return quote + 1;
    }
    this.escaped = backslashesBefore(piece, piece.length, from) % 2 === 1;
    return undefined;
  }

  /** Goes on after the next token that matters; undefined when the piece ends first. */
  private walkTokens(piece: Buffer, start: number): number | undefined {
    for (let at = start; at < piece.length; at += 1) {
      const byte = piece[at] as number;
      if (byte === QUOTE) {
        this.inString = true;
        return at + 1;
      }
      if (isOpening(byte)) {
        this.depth += 1;
      } else if (isClosing(byte) && this.depth > 0) {
        this.depth -= 1;
        this.done = this.depth === 0;
        if (this.done) return at + 1;
      } else if (this.depth === 0 && (byte === COMMA || isClosing(byte) || isSpace(byte))) {
        // A bare number or word ends before this byte.
        this.done = true;
        return at;
      } else if (byte === NEWLINE) {
        this.line += 1;
      }
    }
    return undefined;
  }

  /** A byte between elements; true when an element starts at it. */
  private structure(byte: number, offset: number): boolean {
    switch (this.state) {
      case 'start':
        this.open(byte, offset);
        return false;
      case 'item':
      case 'key':
        return this.begin(byte, offset);
      case 'colon':
        if (byte !== 0x3a) throw unexpected(byte, offset, 'a colon');
        this.state = 'item';
        return false;
      case 'comma':
        this.next(byte, offset);
        return false;
      case 'end':
        throw new JsonFault(
          offset,
          'there is more text after the end of the JSON value',
          'If every line is a JSON value of its own, name the file .jsonl'
        );
    }
  }

  private open(byte: number, offset: number): void {
    if (!isOpening(byte)) throw unexpected(byte, offset, 'an array of rows, or an object whose values are rows');
    this.top = byte === 0x5b ? '[' : '{';
    this.state = this.top === '[' ? 'item' : 'key';
  }

  private begin(byte: number, offset: number): boolean {
    const mayClose = this.state === 'key' || this.top === '[';
    if (mayClose && byte === this.closing().charCodeAt(0)) {
      if (this.openComma !== undefined) {
        throw new JsonFault(this.openComma, `trailing comma before the closing ${this.closing()}`, 'Remove that comma');
      }
      this.state = 'end';
      return false;
    }
    if (this.state === 'key' && byte !== QUOTE) throw unexpected(byte, offset, 'a key in double quotes');
    if (byte === COMMA || byte === 0x3a || isClosing(byte)) throw unexpected(byte, offset, 'a value');
    const kind = this.state === 'key' ? 'key' : 'value';
    this.element = { kind, bytes: undefined, first: byte, size: 0, offset, line: this.line };
    this.done = false;
    this.inString = byte === QUOTE;
    this.escaped = false;
    this.depth = isOpening(byte) ? 1 : 0;
    return true;
  }

  private next(byte: number, offset: number): void {
    if (byte === this.closing().charCodeAt(0)) {
      this.state = 'end';
    } else if (byte === COMMA) {
      this.openComma = offset;
      this.state = this.top === '[' ? 'item' : 'key';
    } else {
      throw unexpected(byte, offset, `a comma or the closing ${this.closing()}`);
    }
  }

  private finish(element: JsonElement, rest: Buffer): JsonElement {
    this.keep(element, rest);
    if (this.collects(element) && element.size <= MAX_ROW_BYTES) {
      element.bytes = this.parts.length === 1 ? (this.parts[0] as Buffer) : Buffer.concat(this.parts);
    }
    this.parts = [];
    this.element = undefined;
    this.openComma = undefined;
    this.state = element.kind === 'key' ? 'colon' : 'comma';
    return element;
  }

  private keep(element: JsonElement, bytes: Buffer): void {
    element.size += bytes.length;
    if (!this.collects(element)) return;
    if (element.size > MAX_ROW_BYTES) this.parts = [];
    else this.parts.push(bytes);
  }

  private collects({ kind }: JsonElement): boolean {
    return this.collect === 'all' || kind === 'key';
  }

  private closing(): ']' | '}' {
    return this.top === '[' ? ']' : '}';
  }
}

function unexpected(byte: number, offset: number, expected: string): JsonFault {
  const found = byte >= 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : `byte 0x${byte.toString(16)}`;
  return new JsonFault(offset, `expected ${expected}, found ${found}`, 'Correct the file there');
}

function backslashesBefore(piece: Buffer, end: number, start: number): number {
  let at = end;
  while (at > start && piece[at - 1] === BACKSLASH) at -= 1;
  return end - at;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === NEWLINE || byte === 0x0d || byte === 0x09;
}

function isOpening(byte: number): boolean {
  return byte === 0x5b || byte === 0x7b;
}

function isClosing(byte: number): boolean {
  return byte === 0x5d || byte === 0x7d;
}
