import { tooManyDigits } from './integers.js';
import { MAX_INT_DIGITS } from './text.js';
import { PythonError, type PyDict, type PyValue } from './value.js';

/** Arrays and objects inside each other at most; CPython gives up at its recursion limit of 1000. */
export const MAX_DEPTH = 990;

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const CONTROL = /[\u0000-\u001f]/;
const CONSTANTS: readonly (readonly [string, PyValue])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
];

/** `json.JSONDecodeError`, with the place inside the text that was parsed. */
export class JsonDecodeError extends PythonError {
  constructor(
    /** Python's short text, e.g. `Expecting value`. */
    readonly reason: string,
    text: string,
    /** UTF-16 offset in the text. */
    readonly offset: number
  ) {
    const { line, column } = placeOf(text, offset);
    super('JSONDecodeError', `${reason}: line ${line} column ${column} (char ${codePoints(text, 0, offset)})`);
  }
}

/** Line and column (1-based, code points) of a UTF-16 offset. */
export function placeOf(text: string, offset: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    line += 1;
    start = at + 1;
  }
  return { line, column: codePoints(text, start, offset) + 1 };
}

function codePoints(text: string, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1) count += 1;
  return count;
}

/**
 * `json.loads(text)` of CPython 3.11: NaN and Infinity are accepted, integers are exact, a repeated key keeps its first place
 * and its last value.
 *
 * @throws JsonDecodeError with CPython's texts and places
 */
export function pyJsonLoads(text: string): PyValue {
  if (text.startsWith('\ufeff')) throw new JsonDecodeError('Unexpected UTF-8 BOM (decode using utf-8-sig)', text, 0);
  const parser = new Parser(text);
  const value = parser.value(0);
  parser.skipSpace();
  if (parser.at !== text.length) throw new JsonDecodeError('Extra data', text, parser.at);
  return value;
}

class Parser {
  at = 0;

  constructor(private readonly text: string) {
    this.skipSpace();
  }

  skipSpace(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.at += 1;
    }
  }

  value(depth: number): PyValue {
    const first = this.text.charAt(this.at);
    if (first === '"') return this.string();
    if (first === '{') return this.dict(deeper(depth, 'object'));
    if (first === '[') return this.list(deeper(depth, 'array'));
    for (const [name, constant] of CONSTANTS) {
      if (first === name.charAt(0) && this.text.startsWith(name, this.at)) {
        this.at += name.length;
        return constant;
      }
    }
    return this.number();
  }

  private number(): PyValue {
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text);
    if (match === null) throw this.error('Expecting value', this.at);
    const literal = match[0];
    if (match[1] !== undefined || match[2] !== undefined) {
      this.at += literal.length;
      return Number(literal);
    }
    const digits = literal.length - (literal.startsWith('-') ? 1 : 0);
    if (digits > MAX_INT_DIGITS) throw tooManyDigits(digits);
    this.at += literal.length;
    return BigInt(literal);
  }

  private list(depth: number): PyValue[] {
    const items: PyValue[] = [];
    this.at += 1;
    this.skipSpace();
    while (this.text.charAt(this.at) !== ']' || items.length > 0) {
      items.push(this.value(depth));
      if (this.closes(']')) break;
    }
    this.at += 1;
    return items;
  }

  private dict(depth: number): PyDict {
    const members: PyDict = new Map();
    this.at += 1;
    this.skipSpace();
    let empty = true;
    while (this.text.charAt(this.at) !== '}' || !empty) {
      empty = false;
      if (this.text.charAt(this.at) !== '"') {
        throw this.error('Expecting property name enclosed in double quotes', this.at);
      }
      const key = this.string();
      this.skipSpace();
      if (this.text.charAt(this.at) !== ':') throw this.error("Expecting ':' delimiter", this.at);
      this.at += 1;
      this.skipSpace();
      members.set(key, this.value(depth));
      if (this.closes('}')) break;
    }
    this.at += 1;
    return members;
  }

  /** After an item: true at the closing bracket, false after a comma. */
  private closes(bracket: string): boolean {
    this.skipSpace();
    const next = this.text.charAt(this.at);
    if (next === bracket) return true;
    if (next !== ',') throw this.error("Expecting ',' delimiter", this.at);
    this.at += 1;
    this.skipSpace();
    return false;
  }

  /** Strings make up nearly all of a data file: their end is searched and their escapes are undone by built-in functions. */
  private string(): string {
    const begin = this.at;
    let end = this.text.indexOf('"', begin + 1);
    while (end !== -1 && this.isEscaped(end, begin)) end = this.text.indexOf('"', end + 1);
    if (end === -1) throw this.stringError(begin);
    const raw = this.text.slice(begin + 1, end);
    if (CONTROL.test(raw)) throw this.stringError(begin);
    this.at = end + 1;
    if (!raw.includes('\\')) return raw;
    try {
      return JSON.parse(`"${raw}"`) as string;
    } catch {
      throw this.stringError(begin);
    }
  }

  private isEscaped(quote: number, begin: number): boolean {
    let at = quote - 1;
    while (at > begin && this.text.charCodeAt(at) === 0x5c) at -= 1;
    return (quote - 1 - at) % 2 === 1;
  }

  /** The first fault of a string that is known to have one. */
  private stringError(begin: number): JsonDecodeError {
    for (let at = begin + 1; at < this.text.length; at += 1) {
      const code = this.text.charCodeAt(at);
      if (code <= 0x1f) return this.error('Invalid control character at', at);
      if (code !== 0x5c) continue;
      const escape = this.text.charAt(at + 1);
      if (escape === '') break;
      if (escape === 'u') {
        if (!/^[0-9a-fA-F]{4}$/.test(this.text.slice(at + 2, at + 6)) || at + 6 >= this.text.length) {
          return this.error('Invalid \\uXXXX escape', at + 1);
        }
        at += 5;
      } else {
        if (!'"\\/bfnrt'.includes(escape)) return this.error('Invalid \\escape', at);
        at += 1;
      }
    }
    return this.error('Unterminated string starting at', begin);
  }

  private error(reason: string, offset: number): JsonDecodeError {
    return new JsonDecodeError(reason, this.text, offset);
  }
}

function deeper(depth: number, kind: 'array' | 'object'): number {
  if (depth < MAX_DEPTH) return depth + 1;
  throw new PythonError(
    'RecursionError',
    `maximum recursion depth exceeded while decoding a JSON ${kind} from a unicode string`
  );
}
