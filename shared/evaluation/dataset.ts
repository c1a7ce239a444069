import { open, rm, stat } from 'node:fs/promises';
import { hashFile, storageError } from '../artifacts/atomic-file.js';
import type { DatasetRow } from '../contracts/dataset.js';
import { PipelineError } from '../contracts/pipeline-error.js';
import { convertOffThread } from '../data/convert-off-thread.js';
import { LineIndex } from '../data/line-index.js';
import { isRecord } from '../inference/reply-checks.js';

const NEWLINE = 0x0a;
const OPENING_BRACE = 0x7b;
const PIECE = 1024 * 1024;
/** Bytes of a row at most; contexts have a few MB. */
const LONGEST_ROW = 64 * PIECE;

/** One item to evaluate. */
export interface EvaluationItem {
  question: string;
  context: string;
  answers: string[];
}

/** Items of a data set, read from disk when they are needed. */
export interface EvaluationData {
  items: number;
  /** SHA-256 of the file as it was given. */
  sha256: string;
  read(item: number): Promise<EvaluationItem>;
}

/**
 * Opens a data set; rows as published are converted into `scratchPath` first.
 *
 * @param limit items to use, from the beginning
 * @throws PipelineError DataInvalid for a missing, torn or empty file
 */
export async function openEvaluationData(
  path: string,
  scratchPath: string,
  limit: number | undefined,
  signal: AbortSignal | undefined
): Promise<EvaluationData> {
  const sha256 = await hash(path);
  const converted = await isConverted(path);
  if (!converted) await convertOffThread({ source: path, output: scratchPath }, signal === undefined ? {} : { signal });
  const index = await LineIndex.build(converted ? path : scratchPath);
  const items = Math.min(limit ?? index.lines, index.lines);
  if (items === 0)
    throw new PipelineError('DataInvalid', `${path} has no rows: there is nothing to evaluate`, { where: path });
  return {
    items,
    sha256,
    read: async (item) => toItem((await index.readJson<unknown>([item]))[0], `${path}: row ${item + 1}`),
  };
}

/** Removes the scratch copy of a converted file. */
export async function removeScratch(scratchPath: string): Promise<void> {
  await rm(scratchPath, { force: true });
}

async function hash(path: string): Promise<string> {
  try {
    if (!(await stat(path)).isFile()) throw new Error('it is not a file');
    return (await hashFile(path)).sha256;
  } catch (error) {
    throw new PipelineError('DataInvalid', `cannot read the data ${path}: ${(error as Error).message}`, {
      where: path,
    });
  }
}

/** Whether the file is one of ours: its first line is a JSON object with `prompt` and `metadata`. */
async function isConverted(path: string): Promise<boolean> {
  const handle = await open(path, 'r').catch((error: unknown) => Promise.reject(storageError(path, error)));
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    // A published file may be one line of gigabytes: a list is known by its first character, the rest by its length.
    while (bytes < LONGEST_ROW) {
      const piece = Buffer.alloc(PIECE);
      const { bytesRead } = await handle.read(piece, 0, PIECE, bytes);
      const end = piece.subarray(0, bytesRead).indexOf(NEWLINE);
      pieces.push(piece.subarray(0, end === -1 ? bytesRead : end));
      bytes += bytesRead;
      if (pieces[0]?.[0] !== OPENING_BRACE) return bytes === 0;
      if (end !== -1 || bytesRead === 0) return firstIsRow(Buffer.concat(pieces).toString('utf8'));
    }
    return false;
  } finally {
    await handle.close();
  }
}

function firstIsRow(line: string): boolean {
  try {
    const value = JSON.parse(line) as unknown;
    return isRecord(value) && isRecord(value['metadata']) && 'prompt' in value;
  } catch {
    return false;
  }
}

function toItem(value: unknown, where: string): EvaluationItem {
  const row = isRecord(value) ? (value as Partial<DatasetRow>) : {};
  const metadata = isRecord(row.metadata) ? (row.metadata as Partial<DatasetRow['metadata']>) : {};
  const question = metadata.question ?? row.prompt;
  const answers = metadata.ground_truth ?? (row.label === undefined ? [] : [row.label]);
  const usable =
    typeof question === 'string' &&
    typeof metadata.context === 'string' &&
    Array.isArray(answers) &&
    answers.length > 0 &&
    answers.every((answer) => typeof answer === 'string');
  if (!usable)
    throw new PipelineError(
      'DataInvalid',
      `${where} is not a row of a converted data set (question, context and answers)`,
      {
        where,
      }
    );
  return { question, context: metadata.context as string, answers };
}
