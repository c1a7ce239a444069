import { describe, expect, it } from 'vitest';
import { CHECKERS } from '../../../shared/conformance/registry.js';
import { formatConformance, runConformance } from '../../../shared/conformance/runner.js';
import { CASE_FOLDER, HAS_CASES } from './case-folder.js';

const FILES = ['reward', 'metrics', 'aggregate', 'convert', 'compare', 'reward_summary'].map((name) => `${name}.json`);

describe.skipIf(!HAS_CASES)('reference cases (skipped only where the case folder is absent)', () => {
  it.each(FILES)('every case of %s gives what the references gave', async (file) => {
    const checkers = CHECKERS.filter((checker) => checker.file === file);
    const results = await runConformance(CASE_FOLDER, checkers);
    const result = results.find((candidate) => candidate.file === file);
    expect(result === undefined ? [] : formatConformance([result]).slice(0, -1)).toEqual([
      `ok     ${file}  ${result?.total} passed, 0 failed`,
    ]);
    expect(result?.total).toBeGreaterThan(5);
  });
});
