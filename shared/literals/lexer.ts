import { intOfDigits } from './python-numbers.js';
import type { Literal } from './values.js';

/** The text is not Python. */
export class LiteralSyntaxError extends Error {
  override readonly name = 'LiteralSyntaxError';
}

const IDENTIFIER_START = /^[\p{L}\p{Nl}_]$/u;
const IDENTIFIER_PART = /^[\p{L}\p{Nl}\p{Nd}\p{M}\p{Pc}]$/u;
const STRING_PREFIX = /^(?:[bBuUfFrR]|[bBfF][rR]|[rR][bBfF])$/;
const OPERATOR = /\*\*|\/\/|<<|>>|<=|>=|==|!=|:=|->|[*/%@&|^<>~=!]/y;

/**
 * Cuts tokens from the text of one Python expression. Every method moves `at` over what it returned; all of them are linear
 * in the text they take, whatever it holds.
 */
export class Lexer {
  at = 0;

  constructor(readonly text: string) {}

  /** Skips blanks; line ends too, because they only occur inside brackets here; a comment ends the line. */
  skipBlanks(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code === 0x23) this.skipComment();
      else if (code === 0x20 || code === 0x09 || code === 0x0c || code === 0x0a || code === 0x0d) this.at += 1;
      else return;
    }
  }

  private skipComment(): void {
    const end = this.text.indexOf('\n', this.at);
    this.at = end === -1 ? this.text.length : end;
  }

  /** Next character after blanks; '' at the end. */
  peek(): string {
    this.skipBlanks();
    return this.text.charAt(this.at);
  }

  startsWith(token: string): boolean {
    this.skipBlanks();
    return this.text.startsWith(token, this.at);
  }

  /** Takes the token if it is next. */
  accept(token: string): boolean {
    if (!this.startsWith(token)) return false;
    this.at += token.length;
    return true;
  }

  expect(token: string): void {
    if (!this.accept(token)) throw this.error(`expected ${token}`);
  }

  operator(): string | null {
    this.skipBlanks();
    OPERATOR.lastIndex = this.at;
    const match = OPERATOR.exec(this.text);
    if (match === null) return null;
    this.at += match[0].length;
    return match[0];
  }

  /** An identifier or keyword, without taking it; '' if there is none. */
  peekName(): string {
    this.skipBlanks();
    let end = this.at;
    for (;;) {
      const code = this.text.codePointAt(end);
      if (code === undefined) break;
      const character = String.fromCodePoint(code);
      if (!(end === this.at ? IDENTIFIER_START : IDENTIFIER_PART).test(character)) break;
      end += character.length;
    }
    return this.text.slice(this.at, end);
  }

  /** A number token: the next character must be a digit or a point before a digit. */
  number(): Literal {
    const start = this.at;
    const based = /^0[xXoObB]$/.test(this.text.slice(start, start + 2));
    for (; ; this.at += 1) {
      const character = this.text.charAt(this.at);
      if (/^[0-9A-Za-z_.]$/.test(character)) continue;
      const afterExponent = /^[eE]$/.test(this.text.charAt(this.at - 1));
      if (based || !afterExponent || !/^[+-]$/.test(character)) break;
    }
    return numberOf(this.text.slice(start, this.at), this);
  }

  /** Prefix of a string that starts here, lower case, or null when no string starts here. */
  stringPrefix(): string | null {
    this.skipBlanks();
    const quote = this.text.slice(this.at, this.at + 3).search(/['"]/);
    if (quote === -1) return null;
    const prefix = this.text.slice(this.at, this.at + quote);
    return quote === 0 || STRING_PREFIX.test(prefix) ? prefix.toLowerCase() : null;
  }

  /** Text between the quotes of a string whose opening quote is at `at`. */
  stringBody(): string {
    const quote = this.text.charAt(this.at);
    const triple = this.text.startsWith(quote.repeat(3), this.at);
    const delimiter = triple ? quote.repeat(3) : quote;
    const start = this.at + delimiter.length;
    let end = this.text.indexOf(delimiter, start);
    while (end !== -1 && this.isEscaped(end, start)) end = this.text.indexOf(delimiter, end + 1);
    if (end === -1) throw this.error('unterminated string');
    const body = this.text.slice(start, end);
    // A backslash may continue a line; a bare line end may not be in a one-line string.
    if (!triple && /[\r\n]/.test(body.replace(/\\[^]/g, ''))) throw this.error('line end in a string');
    this.at = end + delimiter.length;
    return body;
  }

  private isEscaped(quote: number, start: number): boolean {
    let at = quote - 1;
    while (at >= start && this.text.charCodeAt(at) === 0x5c) at -= 1;
    return (quote - 1 - at) % 2 === 1;
  }

  error(reason: string): LiteralSyntaxError {
    return new LiteralSyntaxError(`${reason} at character ${this.at}`);
  }
}

const BASES: Readonly<Record<string, RegExp>> = { '0x': /^[0-9a-fA-F_]+$/, '0o': /^[0-7_]+$/, '0b': /^[01_]+$/ };

function numberOf(token: string, lexer: Lexer): Literal {
  const digitsOfBase = BASES[token.slice(0, 2).toLowerCase()];
  if (digitsOfBase !== undefined) {
    const digits = token.slice(2);
    if (!digitsOfBase.test(digits) || digits.endsWith('_') || digits.includes('__')) throw lexer.error('bad number');
    return BigInt(token.slice(0, 2) + digits.replaceAll('_', ''));
  }
  if (/(?:^|[^0-9])_|_(?:[^0-9]|$)/.test(token)) throw lexer.error('bad number');
  const plain = token.replaceAll('_', '');
  if (/^(?:0+|[1-9][0-9]*)$/.test(plain)) return integerOf(plain, lexer);
  const imaginary = /[jJ]$/.test(plain);
  const decimal = imaginary ? plain.slice(0, -1) : plain;
  if (!/^(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/.test(decimal)) throw lexer.error('bad number');
  // Digits alone that are no integer above have leading zeros, which only an imaginary number may have.
  if (!imaginary && /^[0-9]+$/.test(decimal)) throw lexer.error('leading zeros');
  const value = Number(decimal);
  return imaginary ? { kind: 'complex', real: 0, imaginary: value } : value;
}

/** CPython reports an integer of more than 4300 digits as a syntax error. */
function integerOf(digits: string, lexer: Lexer): bigint {
  try {
    return intOfDigits(digits);
  } catch {
    throw lexer.error('integer with too many digits');
  }
}
