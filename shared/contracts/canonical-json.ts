import { createHash } from 'node:crypto';

/**
 * JSON with object keys in code-unit order and no white space, so that equal values have equal bytes and hashes.
 * `undefined` members are left out, as in JSON.stringify. Not for workflow bundles (node:crypto).
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sortKeys(value));
}

/** SHA-256 (hex) of the canonical JSON of a value. */
export function hashJson(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value as Record<string, unknown>).filter(([, member]) => member !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(entries.map(([key, member]) => [key, sortKeys(member)]));
}
