import { readRecipeFile } from '../../shared/contracts/recipe-parse.js';
import type { Recipe } from '../../shared/contracts/recipe.js';
import { EXIT, UserError } from '../../shared/contracts/user-error.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { exitCodeOf, outcomeText } from '../outcome.js';
import { withClient } from '../pipeline-client.js';
import { prepareStartFrom } from '../start-from.js';
import { checkRunId, defaultRunId, startRun } from '../start-run.js';
import { watchRun } from '../watch-run.js';

interface StartOptions {
  id?: string;
  from?: string;
  fromStage?: string;
  watch?: boolean;
  json?: boolean;
}

export function addStart(context: CommandContext): void {
  const command = context.program
    .command('start')
    .description('Starts a run from a recipe. Workers must be running (`memagent worker`, or `memagent dev`).')
    .argument('[recipe]', 'recipe file; not with --from')
    .option('--id <id>', 'workflow id and name of the run’s folder (default: <name>-<recipe hash>)')
    .option(
      '--from <run>',
      'start a new run from the recipe and the results of this one (its folder, or its name in ./runs)'
    )
    .option('--from-stage <stage>', 'with --from: make this stage and all after it anew, e.g. train:relax or evaluate')
    .option('--watch', 'show the run until it ends')
    .option(...JSON_OPTION);
  withExamples(
    command,
    'memagent start recipes/laptop.json --watch',
    'memagent start recipes/qwen3-4b.json --id qwen-1',
    'memagent start --from qwen-1 --from-stage evaluate'
  );
  runs(command, context, (file: string | undefined, options: StartOptions) => start(context, file, options));
}

interface Wanted {
  recipe: Recipe;
  raw: unknown;
  id: string;
}

async function wanted({ terminal }: CommandContext, file: string | undefined, options: StartOptions): Promise<Wanted> {
  const { from, fromStage } = options;
  if ((file === undefined) === (from === undefined) || (from === undefined && fromStage !== undefined))
    throw new UserError('give a recipe file, or --from with a run', {
      cure: '`memagent start FILE`, or `memagent start --from RUN [--from-stage STAGE]`.',
      exitCode: EXIT.usage,
    });
  if (from === undefined) {
    const { recipe, raw } = await readRecipeFile(file as string);
    return { recipe, raw, id: checkRunId(options.id ?? defaultRunId(recipe)) };
  }
  if (options.id !== undefined) checkRunId(options.id);
  const prepared = await prepareStartFrom(from, fromStage, options.id);
  terminal.err(`taken over from ${from}: ${prepared.takenOver.join(', ') || 'nothing'}`);
  if (prepared.anew.length > 0) terminal.err(`made anew: ${prepared.anew.join(', ')}`);
  return prepared;
}

async function start(context: CommandContext, file: string | undefined, options: StartOptions): Promise<number> {
  const { terminal } = context;
  const { recipe, raw, id } = await wanted(context, file, options);
  return await withClient(terminal, async (connected) => {
    if ((await startRun(connected, id, raw, recipe)) === 'running') {
      throw new UserError(`a run ${id} is going on already`, {
        cure: `Look at it with \`memagent watch ${id}\`, or give another --id.`,
        exitCode: EXIT.usage,
      });
    }
    if (options.json === true)
      terminal.out(JSON.stringify({ id, recipe: recipe.name, namespace: connected.target.namespace }));
    else terminal.out(`started ${id}`);
    if (options.watch !== true) return EXIT.ok;
    const last = await watchRun(terminal, connected, id, {
      json: options.json === true,
      signal: terminal.handleInterrupts(),
    });
    if (last !== undefined && last.status !== 'RUNNING' && options.json !== true) terminal.out(outcomeText(last));
    return exitCodeOf(last);
  });
}
