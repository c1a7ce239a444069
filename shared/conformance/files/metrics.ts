import { PythonError, pyTypeName, type PyValue } from '../../data/python/value.js';
import { exactMatch, f1Score, subExactMatch } from '../../scoring/metrics.js';
import { normalizeAnswer } from '../../scoring/normalize.js';
import { compareOutcome, perPythonCase } from '../python-cases.js';
import type { Checker } from '../types.js';

/** f1, em and sub_em of a prediction against one answer, by both references. */
export const metricsChecker: Checker = {
  file: 'metrics.json',
  check: perPythonCase(({ input, expected, expectedVime }) => {
    const prediction = (): string => text(input.get('prediction') ?? null);
    const truth = (): string => text(input.get('ground_truth') ?? null);
    const relax = compareOutcome(
      expected,
      () => ({
        f1: f1Score(prediction(), truth()),
        em: exactMatch(prediction(), truth()),
        sub_em: subExactMatch(prediction(), truth()),
        normalized_prediction: normalizeAnswer(prediction()),
        normalized_ground_truth: normalizeAnswer(truth()),
      }),
      'relax'
    );
    if (expectedVime === null) return relax;
    const vime = compareOutcome(
      expectedVime,
      () => ({
        f1: f1Score(prediction(), truth(), 'vime'),
        em: exactMatch(prediction(), truth()),
        sub_em: subExactMatch(prediction(), truth(), 'vime'),
      }),
      'vime'
    );
    return [...relax, ...vime];
  }),
};

function text(value: PyValue): string {
  if (typeof value === 'string') return value;
  throw new PythonError('AttributeError', `'${pyTypeName(value)}' object has no attribute 'lower'`);
}
