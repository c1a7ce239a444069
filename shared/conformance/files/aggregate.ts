import { pyGet, pyIterate, pyTruthy } from '../../data/python/value.js';
import { aggregateRelax, aggregateVime } from '../../scoring/aggregate.js';
import { compareOutcome, perPythonCase } from '../python-cases.js';
import type { Checker } from '../types.js';

/** A summary over records with errors, by both references. */
export const aggregateChecker: Checker = {
  file: 'aggregate.json',
  check: perPythonCase(({ input, expected, expectedVime }) => {
    const records = pyIterate(input.get('records') ?? []);
    const relax = compareOutcome(expected, () => aggregateRelax(records), 'relax');
    if (expectedVime === null) return relax;
    const recorded = records.filter((record) => !pyTruthy(pyGet(record, 'error')));
    return [...relax, ...compareOutcome(expectedVime, () => aggregateVime(recorded), 'vime')];
  }),
};
