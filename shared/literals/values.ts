import { pyFloatRepr, pyRepr } from '../data/python/text.js';
import { PythonError } from '../data/python/value.js';

/** A value that a Python literal can stand for. int → bigint, float → number, None → null. */
export type Literal = null | boolean | bigint | number | string | LiteralObject;

export type LiteralObject =
  | { kind: 'complex'; real: number; imaginary: number }
  | { kind: 'bytes'; bytes: readonly number[] }
  | { kind: 'ellipsis' }
  | { kind: 'list' | 'tuple' | 'set'; items: readonly Literal[] }
  | { kind: 'dict'; entries: LiteralDict };

/** A Python dict: equal keys (1, 1.0 and True are one key) share an entry; the first key and the last value stay. */
export class LiteralDict {
  private readonly members = new Map<string, [key: Literal, value: Literal]>();

  /** @throws PythonError TypeError for a key that Python cannot hash */
  set(key: Literal, value: Literal): void {
    const hash = hashKey(key);
    const known = this.members.get(hash);
    this.members.set(hash, [known === undefined ? key : known[0], value]);
  }

  get(key: Literal): Literal | undefined {
    return this.members.get(hashKey(key))?.[1];
  }

  entries(): [key: Literal, value: Literal][] {
    return [...this.members.values()];
  }
}

let nextNan = 0;

/** Equal Python values have equal keys; a NaN equals nothing, not even itself. */
export function hashKey(value: Literal): string {
  if (value === null) return 'None';
  if (typeof value === 'string') return `s${value}`;
  if (typeof value === 'boolean') return value ? 'n1' : 'n0';
  if (typeof value === 'bigint') return `n${value}`;
  if (typeof value === 'number') return hashFloat(value);
  switch (value.kind) {
    case 'complex':
      return value.imaginary === 0 ? hashFloat(value.real) : `c${hashFloat(value.real)},${hashFloat(value.imaginary)}`;
    case 'bytes':
      return `b${value.bytes.join(',')}`;
    case 'ellipsis':
      return 'Ellipsis';
    case 'tuple':
      return `t${JSON.stringify(value.items.map(hashKey))}`;
    case 'list':
    case 'set':
    case 'dict':
      throw new PythonError('TypeError', `unhashable type: '${value.kind}'`);
  }
}

function hashFloat(value: number): string {
  if (Number.isNaN(value)) return `nan${(nextNan += 1)}`;
  return Number.isInteger(value) ? `n${BigInt(value)}` : `f${value}`;
}

/** `repr(value)` of CPython. A set is shown in the order of its source text: Python's own order is not defined. */
export function literalRepr(value: Literal): string {
  if (value === null || typeof value !== 'object') return pyRepr(value);
  switch (value.kind) {
    case 'complex':
      return complexRepr(value.real, value.imaginary);
    case 'bytes':
      return bytesRepr(value.bytes);
    case 'ellipsis':
      return 'Ellipsis';
    case 'list':
      return `[${value.items.map(literalRepr).join(', ')}]`;
    case 'tuple':
      return `(${value.items.map(literalRepr).join(', ')}${value.items.length === 1 ? ',' : ''})`;
    case 'set':
      return value.items.length === 0 ? 'set()' : `{${value.items.map(literalRepr).join(', ')}}`;
    case 'dict': {
      const members = value.entries.entries().map(([key, member]) => `${literalRepr(key)}: ${literalRepr(member)}`);
      return `{${members.join(', ')}}`;
    }
  }
}

function complexRepr(real: number, imaginary: number): string {
  const imaginaryText = complexPart(imaginary);
  if (Object.is(real, 0)) return `${imaginaryText}j`;
  const sign = imaginaryText.startsWith('-') ? '' : '+';
  return `(${complexPart(real)}${sign}${imaginaryText}j)`;
}

/** Parts of a complex number have no `.0`. */
function complexPart(value: number): string {
  return pyFloatRepr(value).replace(/\.0$/, '');
}

const BYTE_ESCAPES: Readonly<Record<number, string>> = { 9: '\\t', 10: '\\n', 13: '\\r', 92: '\\\\' };

function bytesRepr(bytes: readonly number[]): string {
  const quote = bytes.includes(39) && !bytes.includes(34) ? '"' : "'";
  const shown = bytes.map((byte) => {
    const named = BYTE_ESCAPES[byte];
    if (named !== undefined) return named;
    if (byte < 0x20 || byte >= 0x7f) return `\\x${byte.toString(16).padStart(2, '0')}`;
    const character = String.fromCharCode(byte);
    return character === quote ? `\\${quote}` : character;
  });
  return `b${quote}${shown.join('')}${quote}`;
}
