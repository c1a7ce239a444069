import { basename, dirname, resolve } from 'node:path';
import { readModelEvaluations } from '../../shared/artifacts/compare-files.js';
import { EXIT, UserError } from '../../shared/contracts/user-error.js';
import type { AcceptanceMetric, DatasetEvaluation, JudgeInput, LengthDataset } from '../../shared/scoring/verdict.js';

export interface ComparisonOptions {
  base?: readonly string[];
  metric: AcceptanceMetric;
  tolerance: number;
  lengths?: readonly number[];
  dev?: string;
}

type Evaluations = Record<string, DatasetEvaluation>;

/**
 * What the judge needs, from what a person gave: arms as `PATH` or `NAME=PATH` (paths of one name belong together).
 *
 * @throws UserError for data sets that do not tell their length; PipelineError DataInvalid for files
 */
export async function comparisonInput(given: readonly string[], options: ComparisonOptions): Promise<JudgeInput> {
  const arms: JudgeInput['arms'][number][] = [];
  for (const [name, paths] of armPaths(given)) {
    const evaluations = await readModelEvaluations(paths);
    arms.push({ name, flavour: name.toLowerCase().includes('relax') ? 'relax' : 'vime', evaluations });
  }
  const base = await readModelEvaluations(options.base ?? []);
  const known = [base, ...arms.map(({ evaluations }) => evaluations as Evaluations)];
  const datasets = [...new Set(known.flatMap((evaluations) => Object.keys(evaluations)))].sort();
  const dev = options.dev ?? datasets.find((name) => /^(hotpotqa_)?dev$/.test(name)) ?? null;
  const hasBase = options.base !== undefined;
  const parts = [...(arms.length > 1 ? (['pairs'] as const) : []), ...(hasBase ? (['baselines'] as const) : [])];
  return {
    metric: options.metric,
    tolerancePoints: options.tolerance,
    lengths: lengthsOf(
      datasets.filter((name) => name !== dev),
      options.lengths
    ),
    devDataset: dev,
    parts: parts.length === 0 ? ['pairs'] : parts,
    base,
    arms,
  };
}

function armPaths(given: readonly string[]): Map<string, string[]> {
  const arms = new Map<string, string[]>();
  for (const text of given) {
    const [, name = nameOf(text), path = text] = /^([A-Za-z][\w.-]*)=(.+)$/.exec(text) ?? [];
    arms.set(name, [...(arms.get(name) ?? []), path]);
  }
  return arms;
}

/** `relax` of `eval/relax`, of `relax.summary.json` and of `eval/relax/eval_200.summary.json`. */
function nameOf(path: string): string {
  const full = resolve(path);
  const name = basename(full).replace(/(\.summary)?\.json$/, '');
  return /^(.*_)?(dev|eval_?\d+|\d+)$/.test(name) ? basename(dirname(full)) : name;
}

function lengthsOf(datasets: readonly string[], wanted: readonly number[] | undefined): LengthDataset[] {
  const lengths = datasets.map((dataset) => ({ dataset, length: lengthOf(dataset) }));
  if (wanted !== undefined)
    return wanted.map(
      (length) => lengths.find((each) => each.length === length) ?? { dataset: `eval_${length}`, length }
    );
  const nameless = lengths.filter(({ length }) => Number.isNaN(length));
  if (nameless.length > 0)
    throw new UserError(`the length of ${nameless.map(({ dataset }) => dataset).join(', ')} is not known`, {
      cure: 'A data set is called by its length (eval_200.jsonl); the development set is named by --dev.',
      exitCode: EXIT.usage,
    });
  return lengths.sort((a, b) => a.length - b.length);
}

/** The last number in a data set's name; NaN when there is none. */
function lengthOf(dataset: string): number {
  return Number(/(\d+)(?!.*\d)/.exec(dataset)?.[1] ?? Number.NaN);
}
