import { readRecipeFile } from '../../shared/contracts/recipe-parse.js';
import { EXIT, UserError } from '../../shared/contracts/user-error.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { exitCodeOf, outcomeText } from '../outcome.js';
import { withClient } from '../pipeline-client.js';
import { checkRunId, defaultRunId, startRun } from '../start-run.js';
import { watchRun } from '../watch-run.js';

interface StartOptions {
  id?: string;
  watch?: boolean;
  json?: boolean;
}

export function addStart(context: CommandContext): void {
  const command = context.program
    .command('start')
    .description('Starts a run from a recipe. Workers must be running (`memagent worker`, or `memagent dev`).')
    .argument('<recipe>', 'recipe file')
    .option('--id <id>', 'workflow id and name of the run’s folder (default: <name>-<recipe hash>)')
    .option('--watch', 'show the run until it ends')
    .option(...JSON_OPTION);
  withExamples(
    command,
    'memagent start recipes/laptop.json --watch',
    'memagent start recipes/qwen3-4b.json --id qwen-1'
  );
  runs(command, context, (file: string, options: StartOptions) => start(context, file, options));
}

async function start({ terminal }: CommandContext, file: string, options: StartOptions): Promise<number> {
  const { recipe, raw } = await readRecipeFile(file);
  const id = checkRunId(options.id ?? defaultRunId(recipe));
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
