/** Comparison of expected and actual values for conformance checks. */

export interface DifferenceOptions {
  /** Numbers may differ by this part of the larger one. Default 0: the same double (−0 and 0 are told apart). */
  relative?: number;
  /** Numbers may differ by this much. Default 0. */
  absolute?: number;
}

/** Longest rendering of one value in a difference line, in UTF-16 units. */
const SHOWN = 120;

/**
 * Every place where two JSON-like values differ, at most 20.
 *
 * @param path name of the value in the messages
 */
export function differences(
  expected: unknown,
  actual: unknown,
  path: string,
  options: DifferenceOptions = {}
): string[] {
  const found: string[] = [];
  collect(expected, actual, path, options, found);
  return found.slice(0, 20);
}

function collect(expected: unknown, actual: unknown, path: string, options: DifferenceOptions, found: string[]): void {
  if (found.length >= 20) return;
  if (Array.isArray(expected) && Array.isArray(actual)) {
    collectArray(expected, actual, path, options, found);
  } else if (isRecord(expected) && isRecord(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      collect(expected[key], actual[key], `${path}.${key}`, options, found);
    }
  } else if (!equalScalars(expected, actual, options)) {
    found.push(`${path}: expected ${show(expected)}, got ${show(actual)}`);
  }
}

function collectArray(
  expected: unknown[],
  actual: unknown[],
  path: string,
  options: DifferenceOptions,
  found: string[]
): void {
  if (expected.length !== actual.length) {
    found.push(`${path}: expected ${expected.length} items, got ${actual.length}`);
  }
  for (let at = 0; at < Math.min(expected.length, actual.length); at += 1) {
    collect(expected[at], actual[at], `${path}[${at}]`, options, found);
  }
}

function equalScalars(expected: unknown, actual: unknown, options: DifferenceOptions): boolean {
  if (Object.is(expected, actual)) return true;
  if (typeof expected !== 'number' || typeof actual !== 'number') return false;
  const { relative = 0, absolute = 0 } = options;
  if (relative === 0 && absolute === 0) return false;
  if (expected === actual) return true;
  const gap = Math.abs(expected - actual);
  return gap <= absolute || gap <= relative * Math.max(Math.abs(expected), Math.abs(actual));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}… (${text.length} characters)`;
}
