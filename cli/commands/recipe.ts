import { canonicalJson } from '../../shared/contracts/canonical-json.js';
import { PipelineError } from '../../shared/contracts/pipeline-error.js';
import { activityTaskQueue, ROLES } from '../../shared/contracts/queues.js';
import { recipeJsonSchemaText } from '../../shared/contracts/recipe-json-schema.js';
import { readRecipeFile, recipeHash } from '../../shared/contracts/recipe-parse.js';
import type { Recipe } from '../../shared/contracts/recipe.js';
import { EXIT } from '../../shared/contracts/user-error.js';
import { runs, withExamples, JSON_OPTION, type CommandContext } from '../command.js';
import { recipeDifferences } from '../../shared/contracts/recipe-differences.js';
import { describeError } from '../describe-error.js';
import { plural } from '../terminal/units.js';

interface JsonOption {
  json?: boolean;
}

export function addRecipe(context: CommandContext): void {
  const recipe = context.program.command('recipe').description('Checks, describes and compares recipes.');
  withExamples(recipe, 'memagent recipe check recipes/laptop.json');
  const check = recipe
    .command('check')
    .description('Lists every wrong field of a recipe, or says what the run would need. Starts nothing.')
    .argument('<file>', 'recipe file')
    .option('--normalized', 'print the recipe with every default filled in')
    .option(...JSON_OPTION);
  withExamples(check, 'memagent recipe check recipes/laptop.json', 'memagent recipe check my.json --normalized');
  runs(check, context, (file: string, options: JsonOption & { normalized?: boolean }) =>
    checkRecipe(context, file, options)
  );
  const schema = recipe.command('schema').description('Prints the JSON Schema of recipes, for editors.');
  withExamples(schema, 'memagent recipe schema > recipe.schema.json');
  runs(schema, context, async () => {
    context.terminal.out(recipeJsonSchemaText().trimEnd());
    return EXIT.ok;
  });
  const diff = recipe
    .command('diff')
    .description('Compares what two recipes mean, defaults included. Exit code 1 when they differ.')
    .argument('<a>', 'recipe file')
    .argument('<b>', 'recipe file')
    .option(...JSON_OPTION);
  withExamples(diff, 'memagent recipe diff recipes/laptop.json my.json');
  runs(diff, context, (a: string, b: string, options: JsonOption) => diffRecipes(context, a, b, options));
}

async function checkRecipe(
  { terminal }: CommandContext,
  file: string,
  options: JsonOption & { normalized?: boolean }
): Promise<number> {
  try {
    const { recipe } = await readRecipeFile(file);
    if (options.normalized === true) terminal.out(JSON.stringify(recipe, null, 2));
    else if (options.json === true) terminal.out(JSON.stringify({ ok: true, ...facts(recipe), problems: [] }));
    else terminal.out(summary(file, recipe));
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof PipelineError)) throw error;
    const problems = error.details.problems ?? [error.message];
    if (options.json === true) terminal.out(JSON.stringify({ ok: false, problems, cure: error.details.cure }));
    else terminal.err(describeError(error, terminal.env).text);
    return EXIT.failed;
  }
}

function facts(recipe: Recipe): { name: string; hash: string; queues: string[] } {
  const queues = new Set(ROLES.map((role) => activityTaskQueue(role, recipe.placement[role])));
  return { name: recipe.name, hash: recipeHash(recipe), queues: [...queues] };
}

function summary(file: string, recipe: Recipe): string {
  const { hash, queues } = facts(recipe);
  const arms = Object.keys(recipe.arms);
  const turns = recipe.grpo.promptsPerStep * recipe.grpo.groupSize;
  return [
    `${file}: a good recipe`,
    `  name      ${recipe.name} (hash ${hash.slice(0, 16)})`,
    `  engine    ${recipe.engine}, model ${recipe.model.path ?? `${recipe.model.id}@${recipe.model.revision?.slice(0, 8)}`}`,
    `  arms      ${arms.join(', ')}: each ${recipe.smoke.steps} smoke + ${recipe.grpo.steps} steps of ${plural(turns, 'trajectory', 'trajectories')}`,
    `  evaluate  dev and lengths ${recipe.evaluation.lengths.join(', ')}; ${recipe.acceptance.metric} within ${recipe.acceptance.tolerancePoints} points`,
    ...(recipe.diagnostic === true ? ['  verdict   none: a diagnostic is never an acceptance result'] : []),
    `  workers   ${['memagent', ...queues].join(', ')}`,
    `  on halt   ${recipe.onHalt}`,
  ].join('\n');
}

async function diffRecipes({ terminal }: CommandContext, a: string, b: string, options: JsonOption): Promise<number> {
  const [first, second] = await Promise.all([readRecipeFile(a), readRecipeFile(b)]);
  const differences = recipeDifferences(first.recipe, second.recipe);
  if (options.json === true) terminal.out(JSON.stringify({ equal: differences.length === 0, differences }));
  else if (differences.length === 0) terminal.out('the recipes mean the same');
  else
    for (const { path, a: left, b: right } of differences)
      terminal.out(
        `${path}: ${left === undefined ? '(absent)' : canonicalJson(left)} → ${right === undefined ? '(absent)' : canonicalJson(right)}`
      );
  return differences.length === 0 ? EXIT.ok : EXIT.failed;
}
