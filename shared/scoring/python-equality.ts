import type { PyDict, PyValue } from '../data/python/value.js';

/** `a == b` of Python: numbers of any kind and booleans by value (1 == 1.0 == True), texts never equal numbers. */
export function pyEquals(left: PyValue, right: PyValue): boolean {
  const [a, b] = [asNumber(left), asNumber(right)];
  // Relations compare a bigint and a double exactly; a NaN equals nothing.
  if (a !== null && b !== null) return a <= b && a >= b;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, at) => pyEquals(item, right[at] as PyValue));
  }
  if (left instanceof Map && right instanceof Map) return equalDicts(left, right);
  return left === right;
}

function equalDicts(left: PyDict, right: PyDict): boolean {
  if (left.size !== right.size) return false;
  return [...left].every(([key, value]) => {
    const other = right.get(key);
    return other !== undefined && pyEquals(value, other);
  });
}

function asNumber(value: PyValue): bigint | number | null {
  if (typeof value === 'boolean') return value ? 1n : 0n;
  return typeof value === 'bigint' || typeof value === 'number' ? value : null;
}
