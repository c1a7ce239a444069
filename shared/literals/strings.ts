import { LiteralSyntaxError } from './lexer.js';

const ESCAPE = /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^{}\n]*)\}|(\r\n|[^]))/gu;
const BYTES_ESCAPE = /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|(\r\n|[^]))/gu;
const SIMPLE: Readonly<Record<string, string>> = {
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\n': '',
  '\r': '',
  '\r\n': '',
};

/**
 * Undoes the escapes of a Python string literal; an unknown escape keeps its backslash.
 *
 * A named character (`\N{…}`) becomes U+FFFD: this package ships no table of Unicode names, and no number in a log is written
 * with one.
 *
 * @throws LiteralSyntaxError for a cut `\x`, `\u`, `\U` or `\N`, or a code point beyond Unicode
 */
export function unescapeString(body: string): string {
  if (!body.includes('\\')) return body;
  return body.replace(
    ESCAPE,
    (whole: string, octal?: string, hex?: string, u4?: string, u8?: string, name?: string) => {
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
      const code = hex ?? u4 ?? u8;
      if (code !== undefined) return codePoint(Number.parseInt(code, 16));
      if (name !== undefined) return namedCharacter(name);
      return simpleEscape(whole, 'xuUN');
    }
  );
}

/**
 * Bytes of a Python bytes literal.
 *
 * @throws LiteralSyntaxError for a character beyond ASCII or a cut `\x`
 */
export function unescapeBytes(body: string, raw: boolean): number[] {
  if (/[^\0-\x7f]/.test(body)) throw new LiteralSyntaxError('bytes can only contain ASCII');
  const text = raw
    ? body
    : body.replace(BYTES_ESCAPE, (whole: string, octal?: string, hex?: string) => {
        if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
        if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
        return simpleEscape(whole, 'x');
      });
  return Array.from(text, (character) => character.charCodeAt(0));
}

function simpleEscape(whole: string, mustBeComplete: string): string {
  const escaped = whole.slice(1);
  if (mustBeComplete.includes(escaped)) throw new LiteralSyntaxError(`cut escape \\${escaped}`);
  return SIMPLE[escaped] ?? whole;
}

function codePoint(code: number): string {
  if (code > 0x10ffff) throw new LiteralSyntaxError('escape beyond Unicode');
  return String.fromCodePoint(code);
}

function namedCharacter(name: string): string {
  if (!/^[A-Za-z0-9 -]+$/.test(name)) throw new LiteralSyntaxError('unknown Unicode character name');
  return '\ufffd';
}
