import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { PipelineError } from '../contracts/pipeline-error.js';
import { isRecord } from '../inference/reply-checks.js';
import type { EvaluationSummary } from '../scoring/evaluation-types.js';
import type { DatasetEvaluation } from '../scoring/verdict-types.js';
import { dataInvalid, readIfThere, readScores } from './judge-directory.js';

const SUMMARY_ENDING = '.summary.json';

const SOURCES =
  'Name summary files, or a folder of them as `memagent eval --out` and runs write it (eval/<model> in a run’s folder).';

/**
 * Evaluations of one model from summary files, or from folders of them, of this package or of the reference's evaluator. The
 * key is the data set's name, from the summary's `data_file`. Samples are read where they lie beside a summary
 * (`X.jsonl` beside `X.summary.json`).
 *
 * @throws PipelineError DataInvalid naming the file that is missing, torn, no summary, or the second one of a data set
 */
export async function readModelEvaluations(paths: readonly string[]): Promise<Record<string, DatasetEvaluation>> {
  const found: Record<string, DatasetEvaluation> = {};
  for (const path of (await Promise.all(paths.map(summaryFiles))).flat()) {
    const summary = await readSummary(path);
    const dataset = datasetName(summary, path);
    if (Object.hasOwn(found, dataset))
      throw new PipelineError('DataInvalid', `${path} is a second summary of the data set ${dataset} for one model`, {
        where: path,
        cure: 'Give one summary for each data set, or name the models apart: NAME=PATH.',
      });
    found[dataset] = { summary, samples: await samplesBeside(path) };
  }
  return found;
}

async function summaryFiles(path: string): Promise<string[]> {
  const facts = await stat(path).catch((error: Error) => {
    throw new PipelineError('DataInvalid', `cannot read ${path}: ${error.message}`, { where: path, cure: SOURCES });
  });
  if (!facts.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => name.endsWith(SUMMARY_ENDING)).sort();
  if (names.length === 0)
    throw new PipelineError('DataInvalid', `${path} holds no *${SUMMARY_ENDING}`, {
      where: path,
      cure: SOURCES,
    });
  return names.map((name) => join(path, name));
}

async function readSummary(path: string): Promise<EvaluationSummary> {
  let value: unknown;
  try {
    value = JSON.parse((await readIfThere(path)) ?? '');
  } catch (error) {
    throw dataInvalid(path, (error as Error).message);
  }
  if (!isRecord(value) || !('total' in value || 'sub_em_pct' in value))
    throw new PipelineError('DataInvalid', `${path} is not the summary of an evaluation: it has no "total"`, {
      where: path,
      cure: SOURCES,
    });
  return value as unknown as EvaluationSummary;
}

/** `eval_200` of `data/eval_200.jsonl`: what the same data is called for every model. */
function datasetName(summary: EvaluationSummary, path: string): string {
  const file = typeof summary.data_file === 'string' ? summary.data_file : basename(path, SUMMARY_ENDING);
  return basename(file.replaceAll('\\', '/')).replace(/\.(jsonl|json|parquet)$/i, '');
}

async function samplesBeside(path: string): Promise<DatasetEvaluation['samples']> {
  if (!path.endsWith(SUMMARY_ENDING)) return null;
  const samples = `${path.slice(0, -SUMMARY_ENDING.length)}.jsonl`;
  return existsSync(samples) ? await readScores(samples) : null;
}
