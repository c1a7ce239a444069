import { pyRepr } from './text.js';
import type { PyValue } from './value.js';

/** What `json.dumps(ensure_ascii=False)` escapes: quote, backslash and the C0 controls, nothing else (also not U+007F). */
const ESCAPED = /["\\\u0000-\u001f]/g;
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\f': '\\f',
  '\b': '\\b',
};

/**
 * `json.dumps(value, ensure_ascii=False)`: separators `", "` and `": "`, Python's floats, lone surrogates as they are (a text
 * with one cannot be written as UTF-8).
 */
export function pyJsonDumps(value: PyValue): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return dumpString(value);
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (typeof value === 'number') return dumpFloat(value);
  if (typeof value === 'bigint') return pyRepr(value);
  if (Array.isArray(value)) return `[${value.map(pyJsonDumps).join(', ')}]`;
  return `{${[...value].map(([key, member]) => `${dumpString(key)}: ${pyJsonDumps(member)}`).join(', ')}}`;
}

function dumpFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity';
  return pyRepr(value);
}

function dumpString(text: string): string {
  // JSON.stringify writes the same escapes, but also escapes lone surrogates.
  if (text.isWellFormed()) return JSON.stringify(text);
  const escaped = text.replace(ESCAPED, (character) => {
    return SHORT_ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `"${escaped}"`;
}
