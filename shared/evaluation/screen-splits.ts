import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { writeFileAtomic } from '../artifacts/atomic-file.js';
import { readJsonLines } from '../artifacts/json-lines.js';
import { LineIndex } from '../data/line-index.js';
import { AtomicTextWriter } from '../data/line-writer.js';
import { selectPrompts, successHistogram, type ScreenedPrompt, type ScreeningWish } from '../data/screening.js';
import type { StoredSample, StoredSummary } from './types.js';

/** Must stand wherever a screened set is named. */
export const SCREENING_NOTE =
  'Selected by the base model’s own tries: a set with reward variance, never an unbiased metric.';

/** Names within the folder of a screening. */
export const SCREENING_FILES = { train: 'train.jsonl', heldOut: 'heldout.jsonl' } as const;

interface Split {
  file: string;
  sha256: string;
  bytes: number;
  /** Chosen rows of the source, ascending, and how often each was solved. */
  items: { item: number; successes: number }[];
}

/** Which prompts were chosen, from what, and how. */
export interface ScreeningManifest {
  schema: 1;
  note: string;
  source: { file: string; sha256: string };
  tries: { file: string; sha256: string; model: string; samples_per_item: number };
  sampling: { temperature: number; top_p: number; seed: number | null; metric: 'boxed_em' };
  /** Successes of a usable prompt. */
  passes: { min: number; max: number };
  candidates: number;
  /** Prompts with 0, 1, … successes. */
  prompts_by_successes: number[];
  usable: number;
  preferred: number;
  repeated: number;
  splits: { train: Split; heldOut: Split };
}

export interface ScreeningInput {
  /** Rows that were tried, JSON Lines. */
  dataPath: string;
  /** Samples file of the tries. */
  triesPath: string;
  summary: Pick<
    StoredSummary,
    'model' | 'sampling_count' | 'temperature' | 'top_p' | 'seed' | 'data_sha256' | 'samples_sha256'
  >;
  wish: Omit<ScreeningWish, 'samples'>;
}

/** The splits' rows and everything about them, before anything is written. */
export interface Screening {
  index: LineIndex;
  prompts: ScreenedPrompt[];
  items: { train: number[]; heldOut: number[] };
  manifest: Omit<ScreeningManifest, 'splits'>;
}

/**
 * Chooses prompts by the tries of an evaluation with several samples an item.
 *
 * @throws PipelineError DataInvalid when fewer are usable than wanted
 */
export async function screenPrompts({ dataPath, triesPath, summary, wish }: ScreeningInput): Promise<Screening> {
  const index = await LineIndex.build(dataPath);
  const prompts = await screened(triesPath, index);
  const samples = summary.sampling_count;
  const splits = selectPrompts(prompts, { samples, ...wish });
  const manifest: Screening['manifest'] = {
    schema: 1,
    note: SCREENING_NOTE,
    source: { file: basename(dataPath), sha256: summary.data_sha256 },
    tries: {
      file: basename(triesPath),
      sha256: summary.samples_sha256,
      model: summary.model,
      samples_per_item: samples,
    },
    sampling: { temperature: summary.temperature, top_p: summary.top_p, seed: summary.seed, metric: 'boxed_em' },
    passes: wish.passes ?? { min: 1, max: samples - 1 },
    candidates: prompts.length,
    prompts_by_successes: successHistogram(prompts, samples),
    usable: splits.usable,
    preferred: splits.preferred,
    repeated: splits.repeated,
  };
  return { index, prompts, items: { train: splits.train, heldOut: splits.heldOut }, manifest };
}

/**
 * Writes the splits, each a copy of the chosen rows, and their manifest.
 *
 * @param manifestPath absolute path of the manifest
 * @throws PipelineError StorageFailed naming the path
 */
export async function writeScreening(
  screening: Screening,
  folder: string,
  manifestPath: string
): Promise<ScreeningManifest> {
  const { index, prompts, items } = screening;
  const successes = new Map(prompts.map((prompt) => [prompt.item, prompt.successes]));
  const split = async (name: 'train' | 'heldOut'): Promise<Split> => ({
    ...(await writeSplit(join(folder, SCREENING_FILES[name]), index, items[name])),
    items: items[name].map((item) => ({ item, successes: successes.get(item) ?? 0 })),
  });
  const splits = { train: await split('train'), heldOut: await split('heldOut') };
  const manifest: ScreeningManifest = { ...screening.manifest, splits };
  await writeFileAtomic(manifestPath, screeningText(manifest));
  return manifest;
}

/** The text of a screening's manifest. */
export function screeningText(manifest: ScreeningManifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

async function screened(triesPath: string, index: LineIndex): Promise<ScreenedPrompt[]> {
  const successes = new Map<number, number>();
  await readJsonLines(triesPath, (value) => {
    const { item, judge_boxed_em: score } = value as StoredSample;
    if (item !== undefined) successes.set(item, (successes.get(item) ?? 0) + (score === 1 ? 1 : 0));
  });
  const prompts: ScreenedPrompt[] = [];
  for (const [item, count] of [...successes].sort(([a], [b]) => a - b)) {
    const [row] = await index.readJson<{ metadata?: { question?: string; context?: string } }>([item]);
    const text = JSON.stringify([row?.metadata?.question, row?.metadata?.context]);
    prompts.push({ item, successes: count, sha256: createHash('sha256').update(text).digest('hex') });
  }
  return prompts;
}

async function writeSplit(path: string, index: LineIndex, items: readonly number[]): Promise<Omit<Split, 'items'>> {
  const writer = await AtomicTextWriter.create(path);
  try {
    for (const item of items) await writer.write(`${await index.readLine(item)}\n`);
  } catch (error) {
    await writer.discard();
    throw error;
  }
  return { file: basename(path), ...(await writer.commit()) };
}
