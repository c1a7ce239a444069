import { basename } from 'node:path';
import { readStageKeys, type StageKey } from '../../shared/artifacts/stage-keys.js';
import { nearestName } from '../../shared/contracts/nearest-name.js';
import { EXIT, UserError } from '../../shared/contracts/user-error.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { runDirectory } from '../run-directory.js';
import { differingParts, flatParts, type PartDifference } from '../stage-key-parts.js';
import { cleanLine } from '../terminal/clean-text.js';

interface ExplainOptions {
  against?: string;
  json?: boolean;
}

/** A stage of a run, and how it compares with the same stage of another. */
interface Explained extends StageKey {
  /** With `--against`: absent when the other run has not come to the stage. */
  differences?: PartDifference[];
}

export function addExplain(context: CommandContext): void {
  const { program, terminal } = context;
  const command = program
    .command('explain')
    .description('Says why stages of a run were made or taken over: the parts of their keys, and which part differs.')
    .argument('<run>', 'folder of a run, or its name in ./runs')
    .argument('[stage]', 'one stage with all its parts, e.g. data, train:relax, evaluate:base/dev')
    .option('--against <run>', 'show which parts differ from another run’s')
    .option(...JSON_OPTION);
  withExamples(command, 'memagent explain my-run', 'memagent explain my-run train:relax --against other-run');
  runs(command, context, async (run: string, stage: string | undefined, options: ExplainOptions) => {
    const found = await keysOf(run, stage);
    const others = options.against === undefined ? undefined : await readStageKeys(runDirectory(options.against));
    const explained = found.map((key) => compared(key, others));
    if (options.json === true) terminal.out(JSON.stringify(explained));
    else for (const key of explained) terminal.out(text(key, options.against, stage !== undefined));
    return EXIT.ok;
  });
}

async function keysOf(run: string, stage: string | undefined): Promise<StageKey[]> {
  const directory = runDirectory(run);
  const keys = await readStageKeys(directory);
  if (keys.length === 0)
    throw new UserError(`run ${basename(directory)} has come to no stage that could be taken over`, {
      cure: 'Keys are written when a stage begins; look again later with the same command.',
    });
  if (stage === undefined) return keys;
  const chosen = keys.filter((key) => key.stage === stage);
  if (chosen.length > 0) return chosen;
  const names = keys.map((key) => key.stage);
  const near = nearestName(stage, names);
  throw new UserError(
    `run ${basename(directory)} has no stage ${JSON.stringify(stage)}${near === undefined ? '' : `; did you mean “${near}”?`}`,
    { cure: `Its stages are ${names.join(', ')}.`, exitCode: EXIT.usage }
  );
}

function compared(key: StageKey, others: readonly StageKey[] | undefined): Explained {
  const other = others?.find((candidate) => candidate.stage === key.stage);
  return other === undefined ? key : { ...key, differences: differingParts(key.parts, other.parts) };
}

function text(explained: Explained, against: string | undefined, withParts: boolean): string {
  const { stage, key, reusedFrom, parts, differences } = explained;
  const origin = reusedFrom === undefined ? 'made by this run' : `taken over from ${cleanLine(reusedFrom)}`;
  const lines = [`${cleanLine(stage)}: ${origin}, key ${key.slice(0, 12)}`];
  if (against !== undefined) lines.push(...comparison(cleanLine(against), differences));
  if (withParts && against === undefined)
    for (const [part, value] of flatParts(parts)) lines.push(`  ${cleanLine(part)} = ${cleanLine(value, 300)}`);
  return lines.join('\n');
}

function comparison(against: string, differences: readonly PartDifference[] | undefined): string[] {
  if (differences === undefined) return [`  ${against} has not come to this stage`];
  if (differences.length === 0) return [`  every part is equal to ${against}’s: the result is taken over`];
  return differences.map(
    ({ part, here, there }) =>
      `  ${cleanLine(part)}: ${cleanLine(here ?? '(absent)', 200)} here, ${cleanLine(there ?? '(absent)', 200)} in ${against}`
  );
}
