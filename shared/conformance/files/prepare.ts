import { createHash } from 'node:crypto';
import { convertRow } from '../../data/convert-row.js';
import { pyJsonDumps } from '../../data/python/json-dumps.js';
import { pyJsonLoads } from '../../data/python/json-loads.js';
import { PythonError, pyGet, pyIterate, type PyValue } from '../../data/python/value.js';
import type { Flavour } from '../../contracts/trajectory.js';
import { differences } from '../difference.js';
import type { CaseResult, CheckContext, Checker, ConformanceCase } from '../types.js';

/** What a case expects and what we give, in one form. */
interface Outcome {
  row: unknown;
  jsonl_line: string | null;
  error?: { type: string; message: string };
}

function outcomeOf(input: PyValue, flavour: Flavour): Outcome {
  try {
    const converted = convertRow(input, flavour);
    if ('skipped' in converted) return { row: null, jsonl_line: null };
    const line = pyJsonDumps(converted.row);
    return { row: JSON.parse(line), jsonl_line: line };
  } catch (error) {
    if (!(error instanceof PythonError)) throw error;
    return { row: undefined, jsonl_line: null, error: { type: error.type, message: error.message } };
  }
}

function compare(expected: unknown, actual: Outcome, name: string): string[] {
  const wanted = expected as Partial<Outcome>;
  if (wanted.error !== undefined || actual.error !== undefined) {
    return differences(wanted.error, actual.error, `${name}.error`);
  }
  return [
    ...differences(wanted.jsonl_line, actual.jsonl_line, `${name}.jsonl_line`),
    ...differences(wanted.row, actual.row, `${name}.row`),
  ];
}

/** The file's own hash over all lines, with which whole files are compared. */
function compareHash(context: CheckContext, lines: (string | null)[]): CaseResult[] {
  const header = context.document['header'] as { jsonl_sha256?: string } | undefined;
  if (header?.jsonl_sha256 === undefined) return [];
  const hash = createHash('sha256');
  for (const line of lines) if (line !== null) hash.update(`${line}\n`, 'utf8');
  return [
    { id: '(jsonl_sha256)', differences: differences(header.jsonl_sha256, hash.digest('hex'), 'header.jsonl_sha256') },
  ];
}

/** Data rows → JSON lines. Inputs are read again as Python reads them: JSON.parse makes 1.0 and 1 the same. */
export const prepareChecker: Checker = {
  file: 'prepare.json',
  check(cases: ConformanceCase[], context: CheckContext): CaseResult[] {
    const inputs = pyIterate(pyGet(pyJsonLoads(context.text), 'cases')).map((testCase) => pyGet(testCase, 'input'));
    const lines: (string | null)[] = [];
    const results = cases.map((testCase, index): CaseResult => {
      const input = inputs[index] ?? null;
      const relax = outcomeOf(input, 'relax');
      lines.push(relax.jsonl_line);
      const found = compare(testCase.expected, relax, 'expected');
      const vime = testCase.expected_vime ?? undefined;
      if (vime !== undefined) found.push(...compare(vime, outcomeOf(input, 'vime'), 'expected_vime'));
      return { id: testCase.id, differences: found };
    });
    return [...results, ...compareHash(context, lines)];
  },
};
