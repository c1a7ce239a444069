import { pyJsonLoads } from '../data/python/json-loads.js';
import { PythonError, type PyDict, type PyValue } from '../data/python/value.js';
import { differences, type DifferenceOptions } from './difference.js';
import { perCase, type CheckContext, type Checker, type ConformanceCase } from './types.js';

/** A case with values as Python read them: 1 and 1.0 apart, integers exact, order of keys kept. */
export interface PythonCase {
  id: string;
  tag: string;
  input: PyDict;
  /** What the references gave, as plain JSON values. */
  expected: unknown;
  expectedVime: unknown;
}

const parsed = new WeakMap<object, Map<string, PyDict>>();

/** Makes a `check` function from one for a case with Python values. */
export function perPythonCase(check: (testCase: PythonCase) => string[]): Checker['check'] {
  return perCase((testCase, context) => check(pythonCase(testCase, context)));
}

function pythonCase(testCase: ConformanceCase, context: CheckContext): PythonCase {
  const inputs = parsed.get(context) ?? parseInputs(context);
  const input = inputs.get(testCase.id);
  if (input === undefined) throw new Error('the case has no input object');
  return {
    id: testCase.id,
    tag: testCase.tag ?? '',
    input,
    expected: testCase.expected,
    expectedVime: testCase.expected_vime ?? null,
  };
}

function parseInputs(context: CheckContext): Map<string, PyDict> {
  const inputs = new Map<string, PyDict>();
  const document = pyJsonLoads(context.text);
  const cases = document instanceof Map ? document.get('cases') : undefined;
  for (const testCase of Array.isArray(cases) ? cases : []) {
    if (!(testCase instanceof Map)) continue;
    const [id, input] = [testCase.get('id'), testCase.get('input')];
    if (typeof id === 'string' && input instanceof Map) inputs.set(id, input);
  }
  parsed.set(context, inputs);
  return inputs;
}

/** A Python value as plain JSON value: integers become numbers, dicts objects, and NaN and infinities their names. */
export function plain(value: PyValue | undefined): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'number' && Number.isNaN(value)) return 'NaN';
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, member]) => [key, plain(member)]));
  return value;
}

/**
 * Runs what is checked and compares its result, or the Python exception it ends with, with the expected value
 * (`{error: {type, message}}` for an exception; further members of `error` are not compared).
 */
export function compareOutcome(
  expected: unknown,
  run: () => unknown,
  path: string,
  options: DifferenceOptions = {}
): string[] {
  let actual: unknown;
  try {
    actual = run();
  } catch (error) {
    if (!(error instanceof PythonError)) throw error;
    actual = { error: { type: error.type, message: error.message } };
  }
  const { type, message } = errorOf(expected);
  return differences(type === undefined ? expected : { error: { type, message } }, actual, path, options);
}

function errorOf(expected: unknown): { type?: unknown; message?: unknown } {
  const holder =
    typeof expected === 'object' && expected !== null ? (expected as { error?: unknown }).error : undefined;
  return typeof holder === 'object' && holder !== null ? (holder as { type?: unknown; message?: unknown }) : {};
}
