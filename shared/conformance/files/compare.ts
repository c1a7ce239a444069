import { PythonError, type PyDict, type PyValue } from '../../data/python/value.js';
import { pyFloat } from '../../literals/python-numbers.js';
import {
  compareBaseline,
  comparePair,
  validateCompatibleSummaries,
  type Incompatibility,
} from '../../scoring/compare.js';
import { differences } from '../difference.js';
import { compareOutcome, perPythonCase } from '../python-cases.js';
import type { Checker } from '../types.js';

/** Verdict inputs: which summaries may be compared, and the comparison of two of them. */
export const compareChecker: Checker = {
  file: 'compare.json',
  check: perPythonCase(({ input, expected }) => {
    const { validate, compare, cli_exit: cliExit } = expected as Record<string, unknown>;
    const summaries = (input.get('summaries') as PyValue[]).map((summary) => summary as PyDict);
    const [reason] = validateCompatibleSummaries(summaries);
    const comparison = summaries.length < 2 ? null : runComparison(input, summaries as [PyDict, PyDict]);
    return [
      ...compareOutcome(validate, () => raise(reason), 'validate'),
      ...differences(fieldOf(validate), reason?.field, 'validate.error.field'),
      ...compareOutcome(compare, () => raiseOr(comparison), 'compare'),
      ...differences(cliExit, exitCode(reason, comparison), 'cli_exit'),
    ];
  }),
};

type Comparison = Record<string, unknown> | PythonError | null;

function runComparison(input: PyDict, [first, second]: [PyDict, PyDict]): Comparison {
  const [label, metric] = [input.get('label'), input.get('metric') as string];
  try {
    if (input.get('op') === 'baseline') {
      const { base, trained, improvementPoints, passed } = compareBaseline(first, second, metric);
      return { label, metric, base, relax: trained, improvement_pp: improvementPoints, passed };
    }
    const tolerance = pyFloat(input.get('tolerance_pp') ?? 3);
    const pair = comparePair(first, second, metric, tolerance);
    return {
      label,
      metric,
      vime: pair.first,
      relax: pair.second,
      absolute_gap_pp: pair.gapPoints,
      tolerance_pp: tolerance,
      passed: pair.passed,
    };
  } catch (error) {
    if (error instanceof PythonError) return error;
    throw error;
  }
}

function raise(reason: Incompatibility | undefined): 'ok' {
  if (reason !== undefined) throw reason.error;
  return 'ok';
}

function raiseOr(comparison: Comparison): unknown {
  if (comparison instanceof PythonError) throw comparison;
  return comparison;
}

function exitCode(reason: Incompatibility | undefined, comparison: Comparison): 0 | 1 | 'raises' {
  if (reason !== undefined || comparison === null || comparison instanceof PythonError) return 'raises';
  return comparison['passed'] === true ? 0 : 1;
}

function fieldOf(outcome: unknown): unknown {
  const error = typeof outcome === 'object' && outcome !== null ? (outcome as { error?: unknown }).error : undefined;
  return typeof error === 'object' && error !== null ? (error as { field?: unknown }).field : undefined;
}
