import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { readManifest } from '../artifacts/manifest.js';
import { readSidecars } from '../artifacts/sidecar.js';
import { SCREENING } from '../artifacts/training-data.js';
import type { Progress } from '../contracts/progress.js';
import { PipelineError } from '../contracts/pipeline-error.js';
import type { Recipe } from '../contracts/recipe.js';
import type { DataArtifact, DataManifest } from '../data/data-manifest.js';
import { COST_FILE, readCost, type CostSummary } from '../cost/summarize-cost.js';
import type { ScreeningManifest } from '../evaluation/screen-splits.js';
import type { RewardSource } from '../scoring/reward-source.js';
import type { Verdict } from '../scoring/verdict.js';
import { count, plural } from './format.js';
import { readNumberTable } from './number-table.js';
import {
  orderDatasets,
  type ArmData,
  type ArtifactRow,
  type ConversionFacts,
  type EvaluationData,
  type JobRow,
  type RunData,
  type SmokeGate,
  type SourceFile,
} from './run-data.js';

/** Kinds that are made from the report's own data: a report that listed them would differ each time it is made again. */
const OWN_KINDS = new Set(['report', 'manifest', 'timeline']);

/**
 * Reads everything a report needs from a run's directory and nothing else. A file that is missing or torn becomes a line of
 * `problems`; the rest is still there.
 *
 * @throws PipelineError `DataInvalid` when the directory is missing or has no sign of a run
 */
export async function loadRun(directory: string): Promise<RunData> {
  const absolute = resolve(directory);
  const reader = new RunReader(absolute);
  if (!(await isFolder(absolute)) || !existsSync(join(absolute, 'recipe.json'))) {
    throw new PipelineError(
      'DataInvalid',
      `${absolute} is not a run's directory: it has no recipe.json. Give the folder <root>/<pipeline id>.`,
      { where: absolute }
    );
  }
  const recipe = await reader.json<Recipe>('recipe.json');
  const evaluations = await loadEvaluations(reader);
  const arms = await loadArms(reader, recipe);
  const models = ['base', ...arms.map(({ name }) => name)];
  const others = evaluations.map(({ model }) => model).filter((model) => !models.includes(model));
  return {
    directory: absolute,
    name: basename(absolute),
    ...defined({ recipe }),
    ...defined({ progress: await reader.json<Progress>('timeline.json') }),
    ...defined({ cost: await loadCost(reader) }),
    ...defined({ verdict: await reader.json<Verdict>('verdict.json') }),
    ...(recipe?.data.screening === undefined
      ? {}
      : defined({ screening: await reader.json<ScreeningManifest>(SCREENING.manifest) })),
    arms,
    evaluations,
    models: [...models, ...new Set(others)],
    datasets: orderDatasets([...plannedDatasets(recipe), ...evaluations.map(({ dataset }) => dataset)]),
    sources: await loadSources(reader),
    modelFiles: (await reader.json<{ files: SourceFile[] }>('model.json'))?.files ?? [],
    artifacts: await loadArtifacts(reader),
    problems: reader.problems,
  };
}

/** Leaves out members that are undefined, for optional properties. */
function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

function plannedDatasets(recipe: Recipe | undefined): string[] {
  return recipe === undefined ? [] : ['dev', ...recipe.evaluation.lengths.map((length) => `eval_${length}`)];
}

class RunReader {
  readonly problems: string[] = [];

  constructor(readonly directory: string) {}

  path(relative: string): string {
    return join(this.directory, relative);
  }

  async text(relative: string): Promise<string | undefined> {
    try {
      return await readFile(this.path(relative), 'utf8');
    } catch (error) {
      const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      this.problems.push(missing ? `${relative} is not there.` : `${relative} cannot be read.`);
      return undefined;
    }
  }

  async json<T>(relative: string): Promise<T | undefined> {
    const text = await this.text(relative);
    if (text === undefined) return undefined;
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === 'object' && value !== null) return value as T;
    } catch {
      // Falls through to the same line as for JSON of the wrong form.
    }
    this.problems.push(`${relative} is not whole JSON.`);
    return undefined;
  }

  async folders(relative: string): Promise<string[]> {
    const entries = await readdir(this.path(relative), { withFileTypes: true }).catch(() => []);
    return entries
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort();
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (facts) => facts.isDirectory(),
    () => false
  );
}

/** Of a finished run the published cost; of another what was noted so far. */
async function loadCost(reader: RunReader): Promise<CostSummary | undefined> {
  if (existsSync(reader.path(COST_FILE))) return await reader.json<CostSummary>(COST_FILE);
  return await readCost(reader.directory);
}

async function loadArms(reader: RunReader, recipe: Recipe | undefined): Promise<ArmData[]> {
  const planned = Object.keys(recipe?.arms ?? {});
  const found = (await reader.folders('arms')).filter((name) => !planned.includes(name));
  const arms: ArmData[] = [];
  for (const name of [...planned, ...found]) arms.push(await loadArm(reader, name, recipe));
  return arms;
}

async function loadArm(reader: RunReader, name: string, recipe: Recipe | undefined): Promise<ArmData> {
  const folder = `arms/${name}`;
  const rewards = readNumberTable(await reader.text(`${folder}/reward.csv`));
  const steps = rewards.get('step') ?? [];
  const source = `${folder}/reward.json`;
  return {
    name,
    ...defined({ flavour: recipe?.arms[name]?.flavour }),
    rewards: steps.map((step, row) => ({ step, reward: rewards.get('reward')?.[row] ?? NaN })),
    ...(existsSync(reader.path(source)) ? defined({ rewardSource: await reader.json<RewardSource>(source) }) : {}),
    metrics: readNumberTable(await reader.text(`${folder}/metrics.csv`)),
    ...defined({ gate: await reader.json<SmokeGate>(`${folder}/smoke/gate.json`) }),
    ...defined({ conversion: await reader.json<ConversionFacts>(`${folder}/hf.json`) }),
    ...(recipe?.engine === 'ray' ? { jobs: await loadJobs(reader, folder) } : {}),
  };
}

async function loadJobs(reader: RunReader, folder: string): Promise<JobRow[]> {
  const jobs: JobRow[] = [];
  for (const phase of ['smoke', 'train']) {
    const lineage = await reader.json<{ attempts?: Omit<JobRow, 'phase'>[] }>(`${folder}/job/${phase}/lineage.json`);
    for (const attempt of lineage?.attempts ?? []) jobs.push({ ...attempt, phase });
  }
  return jobs;
}

async function loadEvaluations(reader: RunReader): Promise<EvaluationData[]> {
  const evaluations: EvaluationData[] = [];
  for (const model of await reader.folders('eval')) {
    const names = await readdir(reader.path(`eval/${model}`));
    const datasets = names.map((name) => /^(.+?)(?:\.summary\.json|\.jsonl)$/.exec(name)?.[1]);
    for (const dataset of orderDatasets(datasets.filter((name): name is string => name !== undefined))) {
      const samples = reader.path(`eval/${model}/${dataset}.jsonl`);
      evaluations.push({
        model,
        dataset,
        ...defined({
          summary: await reader.json<NonNullable<EvaluationData['summary']>>(`eval/${model}/${dataset}.summary.json`),
        }),
        ...(existsSync(samples) ? { samplesPath: samples } : {}),
      });
    }
  }
  return evaluations;
}

/** Artifacts from the sidecars, or from the manifest where a run was copied without its hidden folders. */
async function loadArtifacts(reader: RunReader): Promise<ArtifactRow[]> {
  const sidecars = await readSidecars(reader.directory);
  let rows: ArtifactRow[] = sidecars;
  if (rows.length === 0) {
    const manifest = await readManifest(reader.directory).catch(() => undefined);
    rows = [
      ...(manifest?.files.filter((file) => file.artifact === undefined && file.producer !== null) ?? []),
      ...(manifest?.folders ?? []),
    ];
    if (manifest === undefined) reader.problems.push('manifest.json is not there.');
  }
  return rows
    .filter(({ kind }) => !OWN_KINDS.has(kind))
    .map(({ path, kind, sha256, bytes, producer, reusedFrom }) => ({
      path,
      kind,
      sha256,
      bytes,
      producer,
      ...defined({ reusedFrom }),
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Source and converted file of every data set. */
async function loadSources(reader: RunReader): Promise<SourceFile[]> {
  const manifest = await reader.json<Partial<DataManifest>>('data/manifest.json');
  return (manifest?.artifacts ?? []).flatMap((artifact) => [sourceFile(artifact), convertedFile(artifact)]);
}

function sourceFile(artifact: DataArtifact): SourceFile {
  const origin = artifact.repo_id === null ? 'source' : `${artifact.repo_id} @ ${artifact.resolved_revision ?? '–'}`;
  return { name: artifact.filename, sha256: artifact.sha256, bytes: artifact.size_bytes, note: origin };
}

function convertedFile({ name, converted }: DataArtifact): SourceFile {
  const { written_rows: written, skipped_rows: skipped } = converted;
  const note = `${name}: ${plural(written, 'row')} written, ${count(skipped)} skipped`;
  return { name: converted.path, sha256: converted.sha256, bytes: converted.size_bytes, note };
}
