import { LiteralSyntaxError } from './lexer.js';
import { floatOfInt } from './python-numbers.js';
import { parseExpression, type Node } from './parser.js';
import { LiteralDict, hashKey, type Literal } from './values.js';

/** Valid Python, but not a literal (a name, a call, an operator). */
export class MalformedLiteralError extends Error {
  override readonly name = 'MalformedLiteralError';
}

/**
 * Value of a Python literal, as `ast.literal_eval` of CPython 3.11 gives it: numbers, strings, bytes, True, False, None,
 * Ellipsis, tuples, lists, sets, dicts, signed and complex numbers. `nan` and `inf` are names, not literals.
 *
 * @throws LiteralSyntaxError the text is not Python
 * @throws MalformedLiteralError the text is Python, but no literal
 * @throws PythonError TypeError for a list, set or dict as a dict key or set member
 */
export function parseLiteral(text: string): Literal {
  return valueOf(parseExpression(text));
}

/** True for the two errors that mean "this text is not a literal". */
export function isNotALiteral(error: unknown): boolean {
  return error instanceof LiteralSyntaxError || error instanceof MalformedLiteralError;
}

function valueOf(node: Node): Literal {
  switch (node.kind) {
    case 'constant':
      return node.value;
    case 'list':
    case 'tuple':
      return { kind: node.kind, items: node.items.map(valueOf) };
    case 'set':
      return { kind: 'set', items: setOf(node.items) };
    case 'dict':
      return dictOf(node.keys, node.values);
    case 'signed':
      return signed(node.sign, numberOf(node.operand));
    case 'sum':
      return complexSum(node);
    case 'other':
      throw new MalformedLiteralError('not a literal');
  }
}

/** Keys and values are evaluated and entered pair by pair, so that the first fault in the text decides the error. */
function dictOf(keys: readonly Node[], values: readonly Node[]): Literal {
  const entries = new LiteralDict();
  for (const [at, key] of keys.entries()) {
    const value = values[at] as Node;
    entries.set(valueOf(key), valueOf(value));
  }
  return { kind: 'dict', entries };
}

/** Items are entered one by one too. */
function setOf(nodes: readonly Node[]): Literal[] {
  const items = new Map<string, Literal>();
  for (const node of nodes) {
    const item = valueOf(node);
    const hash = hashKey(item);
    if (!items.has(hash)) items.set(hash, item);
  }
  return [...items.values()];
}

type LiteralNumber = bigint | number | { kind: 'complex'; real: number; imaginary: number };

function numberOf(node: Node): LiteralNumber {
  const value = node.kind === 'constant' ? node.value : null;
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  if (typeof value === 'object' && value !== null && value.kind === 'complex') return value;
  throw new MalformedLiteralError('a sign needs a number');
}

function signed(sign: '+' | '-', value: LiteralNumber): LiteralNumber {
  if (sign === '+') return value;
  if (typeof value === 'object') return { kind: 'complex', real: -value.real, imaginary: -value.imaginary };
  return -value;
}

/** A real part, then an imaginary part. */
function complexSum(node: Extract<Node, { kind: 'sum' }>): Literal {
  const left = node.left.kind === 'signed' ? signed(node.left.sign, numberOf(node.left.operand)) : numberOf(node.left);
  const right = numberOf(node.right);
  if (typeof left === 'object' || typeof right !== 'object') {
    throw new MalformedLiteralError('only a complex number is a sum');
  }
  const real = typeof left === 'bigint' ? floatOfInt(left) : left;
  return node.sign === '+'
    ? { kind: 'complex', real: real + right.real, imaginary: right.imaginary }
    : { kind: 'complex', real: real - right.real, imaginary: 0 - right.imaginary };
}
