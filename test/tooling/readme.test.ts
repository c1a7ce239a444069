import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FAILURES, FAILURE_TYPES } from '../../shared/contracts/failures.js';
import { packageRoot } from '../../shared/runtime/entry.js';

const readme = readFileSync(join(packageRoot(), 'README.md'), 'utf8');

/** The README's failure table, made from the one in the code. */
function failureTable(): string {
  return FAILURE_TYPES.map((type) => {
    const rule = FAILURES[type];
    const retried = rule.retried ? `yes, ${rule.attempts} attempts` : 'no';
    return `| \`${type}\` | ${retried} | ${rule.afterwards} | ${rule.meaning} |`;
  }).join('\n');
}

describe('the README', () => {
  it('shows the failure table of the code', () => {
    expect(readme).toContain(failureTable());
  });

  it('names every command that it promises', () => {
    for (const command of [
      'demo',
      'dev',
      'worker',
      'start',
      'watch',
      'status',
      'decide',
      'cancel',
      'report',
      'data',
      'eval',
      'compare',
      'compare-runs',
      'explain',
      'conformance',
      'recipe',
      'replay',
      'verify',
      'doctor',
    ]) {
      expect(readme).toMatch(new RegExp(`\\b${command}\\b`));
    }
  });
});
