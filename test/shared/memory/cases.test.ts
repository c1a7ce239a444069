import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chunksChecker } from '../../../shared/conformance/files/chunks.js';
import { promptsChecker } from '../../../shared/conformance/files/prompts.js';
import { trajectoriesChecker } from '../../../shared/conformance/files/trajectories.js';
import { truncateChecker } from '../../../shared/conformance/files/truncate.js';
import { runConformance } from '../../../shared/conformance/runner.js';
import { packageRoot } from '../../../shared/runtime/entry.js';

const cases = join(process.env['MEMAGENT_SHARED'] ?? join(packageRoot(), '..', 'shared'), 'cases');
const checkers = [chunksChecker, truncateChecker, promptsChecker, trajectoriesChecker];

describe.skipIf(!existsSync(cases))(
  'reference cases of chunks, memory cap, prompts and trajectories (skipped: no case folder)',
  () => {
    it.each(checkers.map(({ file }) => file))('every case of %s gives what the references gave', async (file) => {
      const results = await runConformance(cases, checkers);
      const result = results.find((candidate) => candidate.file === file);
      expect(result?.failures).toEqual([]);
      expect(result?.passed).toBeGreaterThan(0);
    });
  }
);
