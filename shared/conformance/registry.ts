import { prepareChecker } from './files/prepare.js';
import { aggregateChecker } from './files/aggregate.js';
import { compareChecker } from './files/compare.js';
import { convertChecker } from './files/convert.js';
import { metricsChecker } from './files/metrics.js';
import { rewardSummaryChecker } from './files/reward-summary.js';
import { rewardChecker } from './files/reward.js';
import { chunksChecker } from './files/chunks.js';
import { promptsChecker } from './files/prompts.js';
import { trajectoriesChecker } from './files/trajectories.js';
import { truncateChecker } from './files/truncate.js';
import type { Checker } from './types.js';

/** Every checker, one a case file: add a file to `files/` and its line here. */
export const CHECKERS: readonly Checker[] = [
  rewardChecker,
  metricsChecker,
  aggregateChecker,
  compareChecker,
  convertChecker,
  rewardSummaryChecker,
  prepareChecker,
  chunksChecker,
  truncateChecker,
  promptsChecker,
  trajectoriesChecker,
];
