/**
 * `make study`: the laptop recipe with five seeds and with parts of the method taken away, on a development stack of its own;
 * writes docs/learning.md with its pictures and prints the goals. What is finished is not run again. Exit 1 when a run failed or
 * a goal is not met.
 *
 * Usage: node dist/scripts/study.js [--only NAME,…] [--seeds 5] [--steps 100] [--items 512] [--at-once 2] [--root runs/study]
 *   [--out docs] [--no-run]
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { writeFileAtomic } from '../shared/artifacts/atomic-file.js';
import { readRecipeFile } from '../shared/contracts/recipe-parse.js';
import { packageRoot } from '../shared/runtime/entry.js';
import { ablationCurves, evaluationLines, seedCurves } from './study/charts.js';
import { studyChecks } from './study/checks.js';
import { learningDocument, type Findings } from './study/document.js';
import { studyRuns, type RawRecipe, type RunKind, type StudyRun } from './study/plan.js';
import { groupTries, mean, readResult, readTries, type RunResult } from './study/results.js';
import { folderOf, isFinished, runAll } from './study/run-all.js';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seeds: { type: 'string', default: '5' },
    steps: { type: 'string', default: '100' },
    items: { type: 'string', default: '512' },
    'at-once': { type: 'string', default: '2' },
    root: { type: 'string', default: 'runs/study' },
    out: { type: 'string', default: 'docs' },
    'no-run': { type: 'boolean', default: false },
  },
});

async function main(): Promise<number> {
  const root = resolve(values.root);
  const { raw } = await readRecipeFile(join(packageRoot(), 'recipes', 'laptop.json'));
  const [seeds, steps, items] = [whole('seeds'), whole('steps'), whole('items')];
  const runs = studyRuns(raw as RawRecipe, { seeds, steps, items, root });
  const wanted = chosen(runs);
  const failures = values['no-run'] ? [] : await runAll(wanted, root, whole('at-once'), say);
  const findings = await gather(runs, root, steps);
  const drawn = await draw(findings, resolve(values.out));
  const checks = studyChecks(findings);
  await writeFileAtomic(
    join(resolve(values.out), 'learning.md'),
    learningDocument({ ...findings, pictures: new Set(drawn) })
  );
  for (const { goal, measured, met } of checks) console.log(`${met ? 'met    ' : 'NOT MET'} ${goal}: ${measured}`);
  if (findings.missing.length > 0) console.log(`not run: ${findings.missing.join(', ')}`);
  console.log(join(resolve(values.out), 'learning.md'));
  return failures.length === 0 && checks.every(({ met }) => met) ? 0 : 1;
}

/** The runs that `--only` names, or all. @throws Error that names the unknown one */
function chosen(runs: readonly StudyRun[]): StudyRun[] {
  const names = values.only?.split(',') ?? runs.map(({ name }) => name);
  const unknown = names.find((name) => runs.every((run) => run.name !== name));
  if (unknown === undefined) return runs.filter(({ name }) => names.includes(name));
  throw new Error(`--only: no run is named “${unknown}”; known are ${runs.map(({ name }) => name).join(', ')}`);
}

/** @throws Error that names the option */
function whole(option: 'seeds' | 'steps' | 'items' | 'at-once'): number {
  const value = Number(values[option]);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`--${option} takes a whole number from 1 on, got ${values[option]}`);
  return value;
}

function say(text: string): void {
  console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);
}

async function gather(runs: readonly StudyRun[], root: string, steps: number): Promise<Findings> {
  const finished: StudyRun[] = [];
  for (const run of runs) if (await isFinished(run, root)) finished.push(run);
  const of = (kind: RunKind): StudyRun[] => finished.filter((run) => run.kind === kind);
  const read = (kind: RunKind): Promise<RunResult[]> =>
    Promise.all(of(kind).map((run) => readResult(run, folderOf(run, root))));
  const frozen = await read('frozen');
  const groups = await Promise.all(
    frozen.map(({ run, arms }) => groupTries(folderOf(run, root), arms[0]?.arm ?? 'relax'))
  );
  const ablations = await read('ablation');
  const tries = await Promise.all(of('tries').map((run) => readTries(folderOf(run, root))));
  const prompts = groups.reduce((sum, each) => sum + each.prompts, 0);
  return {
    seeds: await read('seed'),
    greedy: await read('greedy'),
    ablations,
    shuffled: [...ablations.filter(({ run }) => run.name === 'shuffled'), ...(await read('shuffled'))],
    frozen: new Map(frozen.map(({ run, arms }) => [run.seed, mean(arms[0]?.rewards ?? [])])),
    tries: tries.flat(),
    groups: prompts === 0 ? undefined : { prompts, any: mean(groups.map(({ any }) => any)) },
    steps,
    missing: runs.filter((run) => !finished.includes(run)).map(({ name }) => name),
    pictures: new Set(),
  };
}

/** @returns names of the files that were drawn */
async function draw(findings: Findings, folder: string): Promise<string[]> {
  const { seeds, greedy, ablations, frozen } = findings;
  const base = mean([...frozen.values()]);
  const plain = seeds[0]?.arms[0]?.rewards;
  const pictures: [string, string][] = [];
  if (seeds.length > 0) pictures.push(['learning-seeds.svg', seedCurves(seeds, base)]);
  if (seeds.length > 0) pictures.push(['learning-evaluation.svg', evaluationLines(seeds, greedy)]);
  if (ablations.length > 0 && plain !== undefined)
    pictures.push(['learning-ablations.svg', ablationCurves(ablations, plain, base)]);
  for (const [name, svg] of pictures) await writeFileAtomic(join(folder, name), svg);
  return pictures.map(([name]) => name);
}

process.exit(
  await main().catch((error: Error) => {
    console.error(`error: ${error.message}`);
    return 1;
  })
);
