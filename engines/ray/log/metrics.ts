import { LiteralSyntaxError } from '../../../shared/literals/lexer.js';
import { parseExpression, type Node } from '../../../shared/literals/parser.js';

/** How Python prints floats that are no literals. */
const NAMED: Readonly<Record<string, number>> = { nan: NaN, inf: Infinity, NaN, Infinity };
/** How NumPy 2 and PyTorch print a scalar inside a dict: `np.float64(0.5)`, `tensor(0.5, device='cuda:0')`. */
const SCALAR_CALL = /^(?:(?:np|numpy)\.(?:float|u?int)\d{1,3}|(?:torch\.)?tensor)$/;
/** A framework prints some dozens. */
const MOST_KEYS = 1_000;

/**
 * The numbers of a printed Python dict, by key; entries that are no numbers are left out.
 *
 * @param text from the opening brace to the closing one
 * @returns undefined when the text is no dict: a line that was cut or mixed with another
 */
export function printedNumbers(text: string): Map<string, number> | undefined {
  let node: Node;
  try {
    node = parseExpression(text);
  } catch (error) {
    if (error instanceof LiteralSyntaxError) return undefined;
    throw error;
  }
  if (node.kind !== 'dict') return undefined;
  const numbers = new Map<string, number>();
  for (const [at, key] of node.keys.entries()) {
    if (key.kind !== 'constant' || typeof key.value !== 'string') continue;
    const value = numberOf(node.values[at] as Node);
    if (value !== undefined && numbers.size < MOST_KEYS) numbers.set(key.value, value);
  }
  return numbers;
}

function numberOf(node: Node): number | undefined {
  if (node.kind === 'constant') {
    if (typeof node.value === 'number') return node.value;
    return typeof node.value === 'bigint' ? Number(node.value) : undefined;
  }
  if (node.kind === 'signed') {
    const value = numberOf(node.operand);
    return value === undefined || node.sign === '+' ? value : -value;
  }
  if (node.kind !== 'other' || node.name === undefined) return undefined;
  if (node.args === undefined) return Object.hasOwn(NAMED, node.name) ? NAMED[node.name] : undefined;
  const [first] = node.args;
  return first !== undefined && SCALAR_CALL.test(node.name) ? numberOf(first) : undefined;
}
