import type { JudgeArgs, JudgeResult, ReportArgs, ReportResult } from '../shared/contracts/activities.js';
import type { ArtifactRef } from '../shared/contracts/artifact.js';
import { removeUnfinished } from '../shared/artifacts/atomic-file.js';
import { judgeDirectory } from '../shared/artifacts/judge-directory.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import type { RunFiles } from './ports.js';
import { COST_FILE, readCost } from '../shared/cost/summarize-cost.js';
import { renderReport } from '../shared/report/report.js';
import { evaluationPaths } from './paths.js';
import { openRun } from './run-files.js';
import type { ActivityScope } from './scope.js';

/** Verdict of a run from its evaluation files; the same samples give the same bytes. */
export async function judgeRun(args: JudgeArgs, scope: ActivityScope): Promise<JudgeResult> {
  const run = await openRun(args.run);
  const inputs: ArtifactRef[] = [];
  for (const model of args.models) {
    for (const dataset of args.datasets) inputs.push(await run.expect(evaluationPaths(model, dataset).summary));
  }
  const verdict = await judgeDirectory(run.path('.'), run.recipe);
  const ref = await run.publish('verdict.json', `${JSON.stringify(verdict, null, 2)}\n`, 'verdict', {
    stage: 'judge',
    activity: 'judge',
    attempt: scope.attempt,
    inputs,
  });
  return { verdict: ref, facts: { outcome: verdict.outcome, sentence: verdict.sentence } };
}

/** The manifest vouches for every file: none that was damaged after it was made may get into it. */
async function refuseDamage(run: RunFiles): Promise<void> {
  const lost = await run.heal();
  if (lost.length === 0) return;
  const where = run.path(lost[0] as string);
  throw new PipelineError(
    'StorageFailed',
    `${lost.length} artifacts were changed or removed after they were published, and no copy is left: ${lost.slice(0, 5).join(', ')}`,
    { where, problems: lost, cure: 'Look after the disk, then start the run again: what is damaged is made anew.' }
  );
}

/** Writes the time-line, the cost, the report and, last of all, the manifest over every file. */
export async function publishReport(args: ReportArgs, scope: ActivityScope): Promise<ReportResult> {
  const run = await openRun(args.run);
  // Every other activity of the run has ended: what is unfinished was left by a process that was killed.
  await removeUnfinished(run.path('.'));
  await refuseDamage(run);
  const origin = { stage: 'report', activity: 'publishReport', attempt: scope.attempt } as const;
  const text = `${JSON.stringify(args.progress, null, 2)}\n`;
  const timeline = await run.publish('timeline.json', text, 'timeline', { ...origin, inputs: [] });
  const cost = await readCost(run.path('.'));
  if (cost !== undefined)
    await run.publish(COST_FILE, `${JSON.stringify(cost, null, 2)}\n`, 'timeline', { ...origin, inputs: [] });
  const verdict = await run.find('verdict.json');
  const inputs = verdict === undefined ? [timeline] : [timeline, verdict];
  const report = await run.publish('report.html', await renderReport(run.path('.')), 'report', { ...origin, inputs });
  const manifest = await run.writeManifest();
  return { report, manifest };
}
