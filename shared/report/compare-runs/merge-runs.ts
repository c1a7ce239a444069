import { canonicalJson } from '../../contracts/canonical-json.js';
import { recipeDifferences } from '../../contracts/recipe-differences.js';
import { BASE } from '../../scoring/judge-checks.js';
import { orderDatasets, type EvaluationData, type RunData } from '../run-data.js';

/** A field in which recipes differ; one value a run, as JSON; an absent field is `–`. */
export interface RecipeField {
  path: string;
  values: string[];
}

/** Fields that differ in any two of the recipes, by path. A name or a description changes nothing, and is left out. */
export function differingFields(runs: readonly RunData[]): RecipeField[] {
  const recipes = runs.map(({ recipe }) => recipe);
  const paths = new Set<string>();
  for (const recipe of recipes.slice(1))
    for (const { path } of recipeDifferences(recipes[0], recipe)) if (!IGNORED.has(path)) paths.add(path);
  return [...paths].sort().map((path) => ({ path, values: recipes.map((recipe) => valueAt(recipe, path)) }));
}

const IGNORED = new Set(['name', 'description', '$schema']);

function valueAt(recipe: unknown, path: string): string {
  let value = recipe;
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null) return '–';
    value = (value as Record<string, unknown>)[part];
  }
  return value === undefined ? '–' : canonicalJson(value);
}

/**
 * Several runs as one, so that the report's own charts and tables show them together: an arm is called `<run> <arm>`. The base
 * is one model where every run has the very same evaluation of it, else one a run.
 */
export function mergeRuns(runs: readonly RunData[], labels: readonly string[]): RunData {
  const oneBase = hasOneBase(runs);
  const rename = (run: number, model: string): string =>
    model === BASE && oneBase ? BASE : `${labels[run] ?? ''} ${model}`;
  const evaluations = new Map<string, EvaluationData>();
  for (const [at, run] of runs.entries()) {
    for (const evaluation of run.evaluations) {
      const model = rename(at, evaluation.model);
      evaluations.set(`${model}\0${evaluation.dataset}`, { ...evaluation, model });
    }
  }
  const arms = runs.flatMap((run, at) => run.arms.map((arm) => ({ ...arm, name: rename(at, arm.name) })));
  // Arms first: the palette has six colours, and curves need them more than bases do.
  const known = runs.flatMap((run, at) => run.models.map((model) => rename(at, model)));
  const models = [...new Set([...(oneBase ? [BASE] : []), ...arms.map(({ name }) => name), ...known])];
  const recipe = runs[0]?.recipe;
  return {
    directory: '',
    name: labels.join(', '),
    ...(recipe === undefined ? {} : { recipe }),
    arms,
    evaluations: [...evaluations.values()],
    models,
    datasets: orderDatasets(runs.flatMap(({ datasets }) => datasets)),
    sources: [],
    modelFiles: [],
    artifacts: [],
    problems: runs.flatMap(({ problems }, at) => problems.map((problem) => `${labels[at] ?? ''}: ${problem}`)),
  };
}

function hasOneBase(runs: readonly RunData[]): boolean {
  const facts = runs.map(({ evaluations }) =>
    evaluations.filter(({ model }) => model === BASE).map(({ dataset, summary }) => [dataset, summary ?? null])
  );
  return facts.every((each) => canonicalJson(each) === canonicalJson(facts[0]));
}

/** Names of the runs, told apart by a number where two have the same. */
export function runLabels(runs: readonly RunData[]): string[] {
  const names = runs.map((run) => run.progress?.pipelineId ?? run.name);
  return names.map((name, at) => (names.indexOf(name) === names.lastIndexOf(name) ? name : `${name}#${at + 1}`));
}
