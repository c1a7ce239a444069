/** HTML by template literals in which every value is escaped unless it is HTML already. */

/** A piece of finished HTML. Only this module's functions and reviewed constants make one. */
export class Html {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

export type Value = string | number | Html | null | undefined | false | readonly Value[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

/** Characters that a browser swallows or that turn text around; model outputs have them. */
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/gu;

/**
 * Makes invisible characters visible: control codes as their Unicode pictures (ESC is ␛, NUL is ␀), direction marks and
 * line separators as `‹U+202E›`, lone surrogates as U+FFFD. Tab and line feed stay; carriage return before a line feed goes.
 */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(INVISIBLE, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return '\u2421';
    if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
    return `‹U+${code.toString(16).toUpperCase().padStart(4, '0')}›`;
  });
}

/** Text as HTML: safe between tags and within quoted attributes. */
export function escapeHtml(text: string): string {
  return printable(text).replace(/[&<>"'`]/g, (character) => ENTITIES[character] ?? character);
}

/** Template tag: strings and numbers are escaped, arrays joined, `null`, `undefined` and `false` leave nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  let text = parts[0] ?? '';
  values.forEach((value, index) => {
    text += toHtml(value) + (parts[index + 1] ?? '');
  });
  return new Html(text);
}

function toHtml(value: Value): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return escapeHtml(value);
  return value.map(toHtml).join('');
}

/**
 * JSON that may stand in a `<script type="application/json">`: no `<`, `>` or `&`, no line separators, no lone surrogates
 * (JSON.stringify escapes those).
 */
export function jsonForScript(value: unknown): Html {
  const text = JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  );
  return new Html(text);
}
