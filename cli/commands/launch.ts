import { EXIT } from '../../shared/contracts/user-error.js';
import { readRecipeFile } from '../../shared/contracts/recipe-parse.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { chosenArm, chosenPhase, launchFacts, type LaunchOptions } from '../launch-facts.js';

interface Options extends LaunchOptions {
  print?: boolean;
  explain?: boolean;
  preflight?: boolean;
  json?: boolean;
}

export function addLaunch(context: CommandContext): void {
  const { program } = context;
  const command = program
    .command('launch')
    .description(
      'Shows the Ray job that trains one arm of a recipe: its files, environment and command. Starts no training.'
    )
    .argument('<recipe>', 'recipe file with engine ray')
    .option('--arm <name>', 'arm of the recipe')
    .option('--phase <phase>', 'train, or smoke for the 2-step gate', 'train')
    .option('--print', 'a script to run by hand (default)')
    .option('--explain', 'every flag beside the reference’s own script: equal, added, changed or left out, and why')
    .option('--preflight', 'look at the cluster by a short job, and list everything that is not as the recipe says')
    .option('--run <folder>', 'folder of the run; default: in the recipe’s artifacts, by the recipe’s name')
    .option('--model <folder>', 'Hugging Face folder of the base model; default: where a run downloads it to')
    .option('--data <file>', 'converted training data; default: data/train.jsonl of the run')
    .option(...JSON_OPTION);
  withExamples(
    command,
    'memagent launch --print --arm relax recipes/qwen3-4b.json',
    'memagent launch --explain --arm vime recipes/qwen3-4b.json',
    'memagent launch --preflight --arm relax recipes/qwen3-4b.json --model /shared/Qwen3-4B --data /shared/train.jsonl'
  );
  runs(command, context, (file: string, options: Options) => launch(context, file, options));
}

async function launch({ terminal }: CommandContext, file: string, options: Options): Promise<number> {
  const { launchFlags, launchNotes, launchSpec } = await import('../../engines/ray/launch/launch-spec.js');
  const { recipe } = await readRecipeFile(file);
  const [arm, phase] = [chosenArm(recipe, options), chosenPhase(options)];
  const facts = launchFacts(recipe, arm, phase, options);
  if (options.preflight === true) {
    const { launchPreflight } = await import('../launch-preflight.js');
    return await launchPreflight(terminal, recipe, arm, facts, options.json === true);
  }
  const spec = launchSpec(recipe, arm, phase, facts);
  if (options.explain === true) {
    const { compareFlags } = await import('../../engines/ray/launch/compare-flags.js');
    const { explanation } = await import('../launch-explanation.js');
    const flavour = recipe.arms[arm]?.flavour ?? 'relax';
    const flags = compareFlags(launchFlags(recipe, arm, facts), flavour);
    terminal.out(options.json === true ? JSON.stringify(flags) : explanation(flags, flavour));
  } else if (options.json === true) terminal.out(JSON.stringify(spec));
  else {
    const { manualScript } = await import('../../engines/ray/launch/manual.js');
    terminal.out(manualScript(spec, recipe.cluster?.address ?? '').trimEnd());
  }
  for (const note of launchNotes(recipe, arm)) terminal.err(`note: ${note}`);
  return EXIT.ok;
}
