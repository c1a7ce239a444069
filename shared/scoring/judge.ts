import { reasonsAgainst } from './judge-checks.js';
import { baselineRows, contextRows, pairRows, requiredArms, rewardRows, scoreRows } from './judge-rows.js';
import { failedChecks, notes, ruleText, sentenceOf } from './judge-sentences.js';
import type { JudgeInput, Verdict } from './verdict-types.js';

export const VERDICT_SCHEMA = 'memagent-verdict-v1';

/** Reason against a verdict, whatever the numbers are. */
const DIAGNOSTIC =
  'the recipe is marked as diagnostic: it shows that the machinery works, and is never an acceptance result.';

/**
 * Verdict of a paired evaluation (memagent.md, "Acceptance"): for every length two arms differ by at most the tolerance, and the
 * relax arm is strictly above the frozen base on every length and in boxed EM on the development set. Evaluations that are
 * incomplete or were not made alike give no verdict.
 *
 * Pure: no clock, no paths, no random state; the same input gives the same bytes.
 *
 * @throws RangeError for a tolerance that is not a number ≥ 0
 */
export function judge(input: JudgeInput): Verdict {
  if (!(input.tolerancePoints >= 0)) {
    throw new RangeError(`the tolerance must be a number of percentage points ≥ 0, got ${input.tolerancePoints}`);
  }
  const reasons = [...(input.diagnostic === true ? [DIAGNOSTIC] : []), ...reasonsAgainst(input)];
  const rows = { pairs: pairRows(input), baselines: baselineRows(input), contexts: contextRows(input) };
  const failed = reasons.length > 0 ? [] : failedChecks(input, rows);
  const outcome = reasons.length > 0 ? 'not-comparable' : failed.length > 0 ? 'not-passed' : 'passed';
  return {
    schema_version: VERDICT_SCHEMA,
    outcome,
    sentence: sentenceOf(input, outcome, { ...rows, reasons, failed }),
    rule: {
      metric: input.metric,
      tolerance_points: input.tolerancePoints,
      lengths: input.lengths.map(({ length }) => length),
      dev_dataset: input.devDataset,
      text: ruleText(
        input,
        requiredArms(input.arms).map((arm) => arm.name)
      ),
    },
    arms: input.arms.map(({ name, flavour }) => ({ name, flavour })),
    reasons,
    failed_checks: failed,
    ...rows,
    scores: scoreRows(input),
    rewards: rewardRows(input),
    notes: notes(input, rows),
  };
}
