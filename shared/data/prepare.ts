import { basename, join } from 'node:path';
import { hashFile, writeFileAtomic } from '../artifacts/atomic-file.js';
import { PipelineError } from '../contracts/pipeline-error.js';
import type { Recipe } from '../contracts/recipe.js';
import { convertOffThread } from './convert-off-thread.js';
import { dataArtifact, manifestText, type DataArtifact, type HashedSource } from './data-manifest.js';
import { HubSource, type HubPorts } from './hub/hub-source.js';
import { generateLaptopData } from './laptop-files.js';
import { resolveLocalFile } from './local-source.js';

export interface PreparePorts extends HubPorts {
  /** Folder that relative paths of the recipe are resolved against, after the working directory. */
  projectRoot: string;
  /** Called while data are downloaded, generated and converted. */
  onProgress?: (progress: PrepareProgress) => void;
}

export interface PrepareProgress {
  /** `train`, `dev` or `eval_<length>`. */
  dataset: string;
  step: 'download' | 'generate' | 'convert';
  /** Bytes (download, convert) or items (generate) done, and in all. */
  done: number;
  total: number;
}

export interface PreparedFile {
  /** `train`, `dev`, `eval_<length>`; in this order, lengths as the recipe has them. */
  name: string;
  /** Path within the run, with `/`. */
  path: string;
  rows: number;
  skipped: number;
  sha256: string;
  bytes: number;
}

export interface PreparedFiles {
  files: PreparedFile[];
  /** Paths (within the run) of generated source files; downloaded and local sources stay where they are. */
  sources: string[];
  /** Path within the run. */
  manifest: string;
}

/**
 * Makes every data set of a recipe: generates or fetches the sources, checks their hashes, converts them to JSON Lines in
 * `directory`, and writes `manifest.json` there. Doing it again gives the same bytes.
 *
 * @param directory absolute path of the run's `data` folder
 * @throws PipelineError DataInvalid (missing, torn, no usable row), PinMismatch (wrong revision or hash), StorageFailed,
 *   EngineUnavailable (the hub cannot be reached); AbortError when the signal aborts
 */
export async function prepareData(recipe: Recipe, directory: string, ports: PreparePorts): Promise<PreparedFiles> {
  const folder = basename(directory);
  const sources = recipe.data.generate === undefined ? filesOf(recipe) : undefined;
  const plan = sources ?? (await generate(recipe, directory, ports));
  const artifacts: DataArtifact[] = [];
  for (const source of plan) {
    const hashed = await fetchSource(recipe, source, ports);
    const limit = limitOf(recipe, source.name);
    const output = `${source.name}.jsonl`;
    const converted = await convertOffThread(
      { source: hashed.path, output: join(directory, output), ...(limit !== undefined && { limit }) },
      {
        ...(ports.signal && { signal: ports.signal }),
        onProgress: ({ bytesRead, bytesTotal }) =>
          ports.onProgress?.({ dataset: source.name, step: 'convert', done: bytesRead, total: bytesTotal }),
      }
    );
    artifacts.push(dataArtifact(hashed, `${folder}/${output}`, converted, limit));
  }
  const generated = recipe.data.generate ?? null;
  await writeFileAtomic(join(directory, 'manifest.json'), manifestText(artifacts, generated));
  return {
    files: artifacts.map(preparedFile),
    sources: sources === undefined ? plan.map(({ filename }) => filename) : [],
    manifest: `${folder}/manifest.json`,
  };
}

/** A source before it is fetched. `path` is set when it was generated. */
interface PlannedSource {
  name: string;
  filename: string;
  path?: string;
}

function filesOf(recipe: Recipe): PlannedSource[] {
  const { files } = recipe.data;
  if (files === undefined)
    throw new PipelineError('RecipeInvalid', 'the recipe has neither data.generate nor data.files');
  const missing = recipe.evaluation.lengths.filter((length) => files.eval[String(length)] === undefined);
  if (missing.length > 0) {
    const problems = missing.map((length) => `data.files.eval has no file for length ${length} of evaluation.lengths`);
    throw new PipelineError('RecipeInvalid', `${problems.join('; ')}. Name the file, or leave the length out.`, {
      problems,
    });
  }
  return [
    { name: 'train', filename: files.train },
    { name: 'dev', filename: files.dev },
    ...recipe.evaluation.lengths.map((length) => ({
      name: `eval_${length}`,
      filename: files.eval[String(length)] as string,
    })),
  ];
}

async function generate(recipe: Recipe, directory: string, ports: PreparePorts): Promise<PlannedSource[]> {
  const { generate: options } = recipe.data;
  if (options === undefined) throw new PipelineError('RecipeInvalid', 'data.generate is missing');
  const { lengths, items } = recipe.evaluation;
  const total = options.trainItems + options.devItems + lengths.length * items;
  let done = 0;
  const made = await generateLaptopData(
    join(directory, 'sources'),
    { ...options, evalLengths: lengths, evalItems: items },
    (file) => {
      done += file.items;
      ports.signal?.throwIfAborted();
      ports.onProgress?.({ dataset: file.name, step: 'generate', done, total });
    }
  );
  return made.map(({ name, filename }) => ({
    name,
    filename: `${basename(directory)}/sources/${filename}`,
    path: join(directory, 'sources', filename),
  }));
}

/** Makes sure that a source is there, whole, and the one the recipe names. */
async function fetchSource(recipe: Recipe, source: PlannedSource, ports: PreparePorts): Promise<HashedSource> {
  const { repo, revision } = recipe.data;
  const { name, filename } = source;
  const inHub = source.path === undefined && repo !== undefined && revision !== undefined;
  let path = source.path;
  if (inHub) {
    const hub = new HubSource({ type: 'dataset', id: repo, revision }, ports);
    const fetched = await hub.fetchFile(filename, (done, total) =>
      ports.onProgress?.({ dataset: name, step: 'download', done, total })
    );
    path = fetched.path;
  }
  path ??= resolveLocalFile(filename, ports.projectRoot);
  const facts = await hashFile(path).catch((error: unknown) => {
    throw new PipelineError(
      'DataInvalid',
      `cannot read the data file ${path}: ${(error as Error).message}`,
      {},
      { cause: error }
    );
  });
  checkPin(recipe, filename, path, facts.sha256);
  return { name, filename, path, ...facts, repoId: inHub ? repo : null, revision: inHub ? revision : null };
}

function checkPin(recipe: Recipe, filename: string, path: string, sha256: string): void {
  const pins = recipe.data.sha256 ?? {};
  const wanted = pins[filename] ?? pins[basename(filename)];
  if (wanted === undefined || wanted === sha256) return;
  const cure = 'Put the right file there, or change the hash in the recipe: that is a different experiment';
  throw new PipelineError(
    'PinMismatch',
    `the data file ${path} has SHA-256 ${sha256}, but data.sha256 of the recipe says ${wanted} for ${filename}. ${cure}`,
    { where: path, cure }
  );
}

/** Rows of a set at most; undefined = all. */
function limitOf({ data, evaluation }: Recipe, name: string): number | undefined {
  if (name === 'train') return data.limitTrain;
  return name === 'dev' ? evaluation.devItems : evaluation.items;
}

function preparedFile({ name, converted }: DataArtifact): PreparedFile {
  return {
    name,
    path: converted.path,
    rows: converted.written_rows,
    skipped: converted.skipped_rows,
    sha256: converted.sha256,
    bytes: converted.size_bytes,
  };
}
