import { canonicalJson } from './canonical-json.js';
import { pathText } from './recipe-problems.js';

/** A place where two recipes differ; an absent side is undefined. */
export interface RecipeDifference {
  path: string;
  a: unknown;
  b: unknown;
}

/** Every differing field, by path; lists are compared as a whole. */
export function recipeDifferences(a: unknown, b: unknown, path: string[] = []): RecipeDifference[] {
  if (!isObject(a) || !isObject(b)) {
    const equal = a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b);
    return equal ? [] : [{ path: pathText(path), a, b }];
  }
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
  return keys.flatMap((key) => recipeDifferences(a[key], b[key], [...path, key]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
