import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PipelineError } from '../contracts/pipeline-error.js';
import { PhiloxStream } from '../random/philox.js';
import { readHotpotFile, type HotpotFile, type HotpotItem } from './hotpotqa-items.js';
import { AtomicTextWriter } from './line-writer.js';
import type { SkipReport } from './skip-report.js';

export interface BuildLengthsOptions {
  /** An official HotpotQA file (distractor setting): JSON, JSONL or Parquet. */
  source: string;
  /** Folder for `eval_<length>.json`. */
  folder: string;
  /** Documents of a context, e.g. 50, 200, 800. */
  lengths: readonly number[];
  /** Items of each length, the first usable ones of the file; default all. */
  items?: number;
  seed: number;
  /**
   * Let distractors (never gold paragraphs) stand in a context more than once when the file has too few different ones.
   * Default false.
   */
  allowRepeats?: boolean;
  /** Called after each item: a length, and items of it that are done. */
  onProgress?: (progress: { length: number; done: number; total: number }) => void;
  signal?: AbortSignal;
}

export interface BuiltLength {
  length: number;
  /** Absolute or relative as `folder`. */
  path: string;
  sha256: string;
  bytes: number;
  rows: number;
  /** Documents, over all contexts, that stand in their context for another time. */
  repeatedDocuments: number;
}

export interface BuiltLengths {
  files: BuiltLength[];
  /** Items of the source that are not official HotpotQA items. */
  skipped: SkipReport;
}

/** Stream number of this use of the seed. */
const STREAM = 50;

/**
 * Makes evaluation files with N documents a context from an official HotpotQA file, in the form of the MemAgent evaluation
 * files: an item's own paragraphs (gold, then its official distractors while there is room) and paragraphs drawn from other
 * items, shuffled, each `Document i:` and its text. The same seed gives the same bytes; item i does not depend on how many
 * items are asked for.
 *
 * @throws PipelineError DataInvalid (torn file, no item, too few paragraphs), RecipeInvalid (a length below an item's gold
 *   paragraphs), StorageFailed
 */
export async function buildLengths(options: BuildLengthsOptions): Promise<BuiltLengths> {
  const file = await readHotpotFile(options.source, options.signal);
  const items = file.items.slice(0, options.items);
  if (items.length === 0) {
    const why = file.skipped.first[0]?.detail ?? 'it has no rows';
    const cure = 'Give an official HotpotQA file of the distractor setting';
    throw new PipelineError('DataInvalid', `${options.source} has no HotpotQA item: ${why}. ${cure}`, {
      where: options.source,
      cure,
    });
  }
  const files: BuiltLength[] = [];
  for (const length of options.lengths) files.push(await buildOne(options, file, items, length));
  return { files, skipped: file.skipped };
}

async function buildOne(
  options: BuildLengthsOptions,
  file: HotpotFile,
  items: readonly HotpotItem[],
  length: number
): Promise<BuiltLength> {
  const path = join(options.folder, `eval_${length}.json`);
  let repeatedDocuments = 0;
  const writer = await AtomicTextWriter.create(path);
  try {
    for (const [index, item] of items.entries()) {
      options.signal?.throwIfAborted();
      const draws = new PhiloxStream(options.seed, [STREAM, length, index]);
      const documents = documentsOf(options, file.paragraphs, item, length, draws);
      repeatedDocuments += documents.length - new Set(documents).size;
      const context = documents.map((text, at) => `Document ${at + 1}:\n${text}`).join('\n\n');
      const row = { index, input: item.question, context, answers: [item.answer], num_docs: length };
      await writer.write(`${index === 0 ? '[' : ','}\n${JSON.stringify(row)}`);
      options.onProgress?.({ length, done: index + 1, total: items.length });
      await nextTurn();
    }
    await writer.write('\n]\n');
    return { length, path, ...(await writer.commit()), rows: items.length, repeatedDocuments };
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

function documentsOf(
  options: BuildLengthsOptions,
  paragraphs: readonly string[],
  item: HotpotItem,
  length: number,
  draws: PhiloxStream
): string[] {
  if (item.gold.length > length) {
    throw new PipelineError(
      'RecipeInvalid',
      `a context of ${length} documents cannot hold the ${item.gold.length} gold paragraphs of "${item.question.slice(0, 80)}". Raise the length.`
    );
  }
  const documents = [...item.gold, ...item.distractors].slice(0, length);
  const own = new Set([...item.gold, ...item.distractors]);
  for (const index of drawOrder(draws, paragraphs.length)) {
    if (documents.length === length) break;
    const text = paragraphs[index] as string;
    if (!own.has(text)) documents.push(text);
  }
  if (documents.length < length) repeatDistractors(options, documents, item, length);
  return draws.shuffle(documents);
}

function repeatDistractors(options: BuildLengthsOptions, documents: string[], item: HotpotItem, length: number): void {
  const distractors = documents.slice(item.gold.length);
  if (options.allowRepeats !== true || distractors.length === 0) {
    const cure = 'Give a larger HotpotQA file, a smaller length, or allow repeated distractors (--allow-repeats)';
    throw new PipelineError(
      'DataInvalid',
      `${options.source} has ${documents.length} different paragraphs for a context of ${length} documents. ${cure}`,
      { where: options.source, cure }
    );
  }
  for (let at = 0; documents.length < length; at += 1) documents.push(distractors[at % distractors.length] as string);
}

/** The numbers 0 … count − 1 in random order, made as far as they are asked for (sparse Fisher–Yates). */
function* drawOrder(draws: PhiloxStream, count: number): Generator<number> {
  const moved = new Map<number, number>();
  for (let at = 0; at < count; at += 1) {
    const other = at + draws.nextInt(count - at);
    const drawn = moved.get(other) ?? other;
    moved.set(other, moved.get(at) ?? at);
    moved.delete(at);
    yield drawn;
  }
}
