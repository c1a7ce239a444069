import type { ConvertArgs, ConvertResult } from '../shared/contracts/activities.js';
import { PipelineError } from '../shared/contracts/pipeline-error.js';
import { readTrajectories } from '../shared/artifacts/trajectories-parquet.js';
import { writeRows } from '../shared/artifacts/rows-parquet.js';
import { conversionOptions } from '../shared/grpo/conversion-options.js';
import { convertTrajectories } from '../shared/grpo/rows.js';
import { lengthFacts } from '../shared/grpo/step-facts.js';
import { armPaths } from './paths.js';
import type { Origin, RunFiles } from './ports.js';
import { openRun } from './run-files.js';
import type { ActivityScope } from './scope.js';
import type { RowFacts } from './step-record.js';

/**
 * Turns the trajectories of one step into training rows and reports how many were produced.
 *
 * @throws PipelineError ConversionFailed naming the trajectory and the check
 */
export async function convertRollouts(args: ConvertArgs, scope: ActivityScope): Promise<ConvertResult> {
  const run = await openRun(args.run);
  const paths = armPaths(args.arm, args.phase);
  const existing = await run.find(paths.rows(args.step));
  if (existing !== undefined && (await run.find(paths.rowFacts(args.step))) !== undefined) {
    const facts = await run.readJson<RowFacts>(paths.rowFacts(args.step));
    return { rows: existing, producedRows: facts.produced_rows, trimmedRows: facts.trimmed_rows };
  }
  const trajectories = await readTrajectories(await checkedInput(run, args));
  const converted = convertTrajectories(trajectories, conversionOptions(run.recipe, args.arm, args.step));
  const origin: Origin = {
    stage: 'convert',
    activity: 'convertRollouts',
    attempt: scope.attempt,
    inputs: [args.trajectories],
  };
  await writeRows(run.path(paths.rows(args.step)), converted.rows);
  const rows = await run.adopt(paths.rows(args.step), 'rows', origin);
  const facts: RowFacts = {
    step: args.step,
    produced_rows: converted.producedRows,
    trimmed_rows: converted.trimmedRows,
    ...lengthFacts(trajectories, converted.rows),
  };
  await run.publish(paths.rowFacts(args.step), `${JSON.stringify(facts)}\n`, 'rows', { ...origin, inputs: [rows] });
  return { rows, producedRows: converted.producedRows, trimmedRows: converted.trimmedRows };
}

/** The file must be the one that the rollout activity reported. */
async function checkedInput(run: RunFiles, args: ConvertArgs): Promise<string> {
  const found = await run.find(args.trajectories.path);
  if (found?.sha256 !== args.trajectories.sha256) {
    throw new PipelineError(
      'ConversionFailed',
      `${args.trajectories.path} is missing or not the file that was generated (SHA-256 differs)`,
      {
        where: run.path(args.trajectories.path),
      }
    );
  }
  return run.path(args.trajectories.path);
}
