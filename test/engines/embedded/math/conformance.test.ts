import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { policyCheckers } from '../../../../engines/embedded/conformance/index.js';
import { formatConformance, runConformance } from '../../../../shared/conformance/runner.js';
import { packageRoot } from '../../../../shared/runtime/entry.js';

const cases = join(process.env['MEMAGENT_SHARED'] ?? join(packageRoot(), '..', 'shared'), 'cases', 'policy');

describe.skipIf(!existsSync(cases))('policy cases of ../shared (absent outside the project tree)', () => {
  it.each(['simd', 'reference'] as const)(
    'gives the reference values of every case with %s kernels',
    async (kind) => {
      const results = await runConformance(cases, policyCheckers(kind));
      expect(formatConformance(results).filter((line) => !line.startsWith('ok'))).toEqual([
        expect.stringMatching(/^5 files, \d+ cases passed, 0 failed$/),
      ]);
    },
    300_000
  );
});
